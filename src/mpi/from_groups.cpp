// Communicators made of groups, without a parent (MPI 5.0, 7.4.2 and 7.6.2). The members find each other by the program's
// string in a context that all processes have.
#include <fmt/format.h>

#include <string_view>

#include "mpi/api.hpp"
#include "mpi/comm_hints.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/context_name.hpp"
#include "mpi/intercomm.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

// FNV-1a, of which a tag has room for 31 bits. Two strings with one hash are told apart by the order of calls.
MessageTag tag_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return MessageTag(static_cast<int>(hash >> 33));
}

Context groups_context(Process& p) {
  const Context context = world_context(ContextKind::groups);
  if (!p.groups_context_open) p.engine->open_context(context);
  p.groups_context_open = true;
  return context;
}

int check_making(Process& p, const Group& group, const Errhandler& errhandler) {
  if (p.phase != Process::Phase::joined) return p.explain(err_other, "there is no session, and not MPI_COMM_WORLD");
  if (group.session && !group.session->open) return p.explain(err_session, "the session that the group is of has been finalized");
  if (group.self == undefined) return p.explain(err_group, "the calling process is not in the group");
  if (errhandler.kind == Errhandler::Kind::user && errhandler.owner != Errhandler::Owner::comm) {
    return p.explain(err_arg, "the error handler was not made by MPI_Comm_create_errhandler");
  }
  return success;
}

int make_from(Process& p, const Group& group, const char* stringtag, Errhandler& errhandler, Comm*& made) {
  if (int code = check_making(p, group, errhandler)) return code;
  Comm* comm = unnamed_comm(errhandler, copy_group(group));
  const int code = name_by_tag(p, groups_context(p), tag_of(stringtag), *comm);
  if (code) release(comm);
  else made = comm;
  return code;
}

// As the leader gives it.
Link link_of(Process& p, const Group* remote, int remote_leader, const char* stringtag) {
  if (remote && remote->size() == 0) return {.nobody = true};  // 7.6.2; the others hear of it, since their remote_group is not looked at
  if (!remote) return {.code = p.explain(err_group, "the leader's remote_group is MPI_GROUP_NULL")};
  if (remote_leader < 0 || remote_leader >= remote->size()) {
    return {.code = p.explain(err_rank, fmt::format("remote leader {} is not a rank of the remote group of {}", remote_leader,
                                                    remote->size()))};
  }
  const Rank leader = remote->world(remote_leader);
  if (leader == p.engine->job().self) {
    return {.code = p.explain(err_rank, fmt::format("remote leader {} is the local leader itself", remote_leader))};
  }
  return {groups_context(p), leader, tag_of(stringtag), success};
}

}  // namespace

int comm_create_from_group(Process& p, Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                           Comm*& newcomm) {
  newcomm = nullptr;
  if (group.size() == 0) return success;
  if (int code = make_from(p, group, stringtag, errhandler, newcomm)) return code;
  if (info) add_comm_hints(*newcomm, *info);
  return success;
}

// By way of a communicator of the local group.
int intercomm_create_from_groups(Process& p, Group& local_group, int local_leader, Group* remote_group, int remote_leader,
                                 const char* stringtag, Info* info, Errhandler& errhandler, Comm*& newintercomm) {
  newintercomm = nullptr;
  if (local_group.size() == 0) return success;
  if (local_leader < 0 || local_leader >= local_group.size()) {
    return p.explain(err_rank, fmt::format("local leader {} is not a rank of the local group of {}", local_leader,
                                           local_group.size()));
  }
  Comm* local = nullptr;
  if (int code = make_from(p, local_group, stringtag, errhandler, local)) return code;
  Link link;
  if (local->rank() == local_leader) link = link_of(p, remote_group, remote_leader, stringtag);
  const int code = join_groups(p, *local, local_leader, link, newintercomm);
  release(local);
  if (newintercomm && info) add_comm_hints(*newintercomm, *info);
  return code;
}

}  // namespace hf::mpi
