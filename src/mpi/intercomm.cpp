// Making intercommunicators and merging their groups (MPI 5.0, 7.6.2). The name comes from the process that is rank 0 of its
// group, of the two groups the one where that is the lower job-wide number (docs/contexts.md).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/intercomm.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// What a leader tells its group, and the other leader.
struct Introduction {
  std::int32_t code = success;  // not a success: what the leader found wrong, for all of its group
  std::int32_t size = 0;        // of the group
  Context name;                 // drawn by the group's rank 0
};

Part part_of(Introduction& introduction) { return Part::raw(&introduction, sizeof introduction); }
Part part_of(std::vector<Rank>& ranks) { return Part::raw(ranks.data(), ranks.size() * sizeof(Rank)); }

// The way to the other leader, or what is wrong with it.
Link link_through(Process& p, Comm* peer, int remote_leader, int tag) {
  if (!peer) return {.code = p.explain(err_comm, "the leader's peer_comm is MPI_COMM_NULL")};
  if (tag < 0) return {.code = p.explain(err_tag, fmt::format("tag {} is negative", tag))};
  const int size = peer->peers().size();
  if (remote_leader < 0 || remote_leader >= size) {
    return {.code = p.explain(err_rank, fmt::format("remote leader {} is not a rank of the peer communicator, whose ranks are "
                                                    "0 to {}",
                                                    remote_leader, size - 1))};
  }
  const Rank leader = peer->world(remote_leader);
  if (leader == p.engine->job().self) {
    return {.code = p.explain(err_rank, fmt::format("remote leader {} is the local leader itself", remote_leader))};
  }
  return {creation_context(p, *peer), leader, MessageTag(tag), success};
}

// The leaders tell each other about their groups. Both send first: neither waits for the other to listen.
void introduce(Process& p, const Link& link, Introduction& mine, std::vector<Rank> members, Introduction& theirs,
               std::vector<Rank>& their_members) {
  engine::SendOperation sends[2];
  engine::RecvOperation receives[2];
  const Part out[2] = {part_of(mine), part_of(members)};
  for (int i = 0; i < 2; ++i) {
    p.engine->send(sends[i], link.context, link.leader, link.tag, out[i].source(), engine::SendMode::standard);
  }
  const Part first = part_of(theirs);
  p.engine->recv(receives[0], link.context, link.leader, link.tag, first.sink());
  p.engine->wait_for(receives[0].complete, link.leader);
  their_members.resize(static_cast<std::size_t>(theirs.size));
  const Part second = part_of(their_members);
  p.engine->recv(receives[1], link.context, link.leader, link.tag, second.sink());
  p.engine->wait([&] { return receives[1].done() && sends[0].done() && sends[1].done(); }, [&] { return link.leader; });
}

// `all` of a group hear what their leader has.
int tell(Process& p, Comm& comm, int leader, const Part& what) {
  return run_collective(p, comm, "Intercomm_create", [&](Schedule& s) {
    list_bcast(s, what, leader);
    return success;
  });
}

// The leader has the name that rank 0 of its group has drawn.
int draw_at_first(Process& p, Comm& comm, int leader, Context& name) {
  return run_collective(p, comm, "Intercomm_create", [&](Schedule& s) {
    if (comm.rank() == 0) {
      if (int code = draw_name(p, name)) return code;
    }
    const Part part = Part::raw(&name, sizeof name);
    if (leader != 0 && comm.rank() == 0) s.send(leader, part);
    if (leader != 0 && comm.rank() == leader) s.recv(0, part);
    return static_cast<int>(success);
  });
}

int check_disjoint(Process& p, const Group& group, const Group& remote) {
  for (Rank member : remote.members) {
    if (group.rank_of(member) == undefined) continue;
    return p.explain(err_comm, fmt::format("rank {} of MPI_COMM_WORLD is in both groups: they must be disjoint", member.value));
  }
  return success;
}

// All of the local group get to know the name of the new communicator and the remote group.
int meet(Process& p, Comm& local, int local_leader, const Link& link, Context& name, Group& remote) {
  Introduction mine, theirs;
  if (int code = draw_at_first(p, local, local_leader, mine.name)) return code;
  mine.size = local.size();
  if (local.rank() == local_leader) {
    theirs.code = link.code;
    if (!theirs.code && !link.nobody) introduce(p, link, mine, local.group->members, theirs, remote.members);
    if (theirs.size > 0 && local.world(0).value < remote.world(0).value) theirs.name = mine.name;
  }
  if (int code = tell(p, local, local_leader, part_of(theirs))) return code;
  if (theirs.code) {
    return local.rank() == local_leader ? theirs.code : p.explain(theirs.code, "the local leader's arguments are wrong");
  }
  if (theirs.size == 0) return success;
  name = theirs.name;
  remote.members.resize(static_cast<std::size_t>(theirs.size));
  return tell(p, local, local_leader, part_of(remote.members));
}

// Whether the local group comes first in the merged one: the group that is not `high`, of two that say the same the lower.
int agree_on_order(Process& p, Comm& inter, bool high, bool& first) {
  std::uint8_t mine = high, theirs = 0;
  const int code = run_collective(p, inter, "Intercomm_merge", [&](Schedule& s) {
    list_swap(s, Part::raw(&mine, 1), Part::raw(&theirs, 1));
    return success;
  });
  first = mine != theirs ? !high : inter.is_lower();
  return code;
}

}  // namespace

int join_groups(Process& p, Comm& local, int local_leader, const Link& link, Comm*& made) {
  Context name;
  Group* remote = new_group(*local.group);
  int code = meet(p, local, local_leader, link, name, *remote);
  if (!code) code = check_disjoint(p, *local.group, *remote);
  if (code || remote->size() == 0) {
    release(remote);
    return code;
  }
  made = unnamed_comm(local, copy_group(*local.group), remote);
  made->point = name;
  open_contexts(p, *made);
  return success;
}

int intercomm_create(Process& p, Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                     Comm*& newintercomm) {
  if (local_comm.is_inter()) return p.explain(err_comm, "local_comm is an intercommunicator");
  if (local_leader < 0 || local_leader >= local_comm.size()) {
    return p.explain(err_rank, fmt::format("local leader {} is not a rank of the local communicator, whose ranks are 0 to {}",
                                           local_leader, local_comm.size() - 1));
  }
  Link link;
  if (local_comm.rank() == local_leader) link = link_through(p, peer_comm, remote_leader, tag);
  return join_groups(p, local_comm, local_leader, link, newintercomm);
}

int intercomm_merge(Process& p, Comm& intercomm, int high, Comm*& newintracomm) {
  if (!intercomm.is_inter()) return p.explain(err_comm, "the communicator is not an intercommunicator");
  bool first = false;
  if (int code = agree_on_order(p, intercomm, high != 0, first)) return code;
  Comm* made = unnamed_comm(intercomm, both_groups(intercomm, first));
  const int code = run_collective(p, intercomm, "Intercomm_merge", [&](Schedule& s) {
    s.among(*made->group);
    return list_naming(p, s, *made);
  });
  if (code) release(made);
  else newintracomm = made;
  return code;
}

}  // namespace hf::mpi
