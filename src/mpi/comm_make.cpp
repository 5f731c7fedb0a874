#include "mpi/comm_make.hpp"

#include <fmt/format.h>

#include "mpi/coll/algorithms.hpp"
#include "mpi/context_name.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

void open_named(Schedule& s, Comm*& made) { open_contexts(s.process(), *made); }

}  // namespace

Comm* unnamed_comm(Errhandler& errhandler, Group* group, Group* remote) {
  auto* made = new Comm;
  made->group = group;
  made->remote = remote;
  made->errhandler = retain(&errhandler);
  return made;
}

Comm* unnamed_comm(const Comm& parent, Group* group, Group* remote) {
  return unnamed_comm(*parent.errhandler, group, remote);
}

Group* copy_group(const Group& from) {
  Group* group = new_group(from);
  group->members = from.members;
  group->self = from.self;
  return group;
}

Group* copy_group(const Group* from) { return from ? copy_group(*from) : nullptr; }

Group* both_groups(const Comm& inter, bool local_first) {
  const Group &local = *inter.group, &remote = *inter.remote;
  Group* both = copy_group(local_first ? local : remote);
  both->self = local.self + (local_first ? 0 : both->size());
  const Group& second = local_first ? remote : local;
  both->members.insert(both->members.end(), second.members.begin(), second.members.end());
  return both;
}

int draw_name(Process& p, Context& point) {
  const std::uint64_t n = p.engine->next_context_creation();
  const Rank self = p.engine->job().self;
  if (n >= context_creations_max || self.value > context_creator_max) {
    return p.explain(err_other, fmt::format("no names are left for communicators: this process has made {}", n));
  }
  point = created_context(self, n, ContextKind::point);
  return success;
}

void open_contexts(Process& p, Comm& made) {
  made.collective = context_sibling(made.point, ContextKind::collective);
  made.engine = p.engine.get();
  p.engine->open_context(made.point);
  p.engine->open_context(made.collective);
}

int list_naming(Process& p, Schedule& s, Comm& made) {
  if (s.rank() == 0) {
    if (int code = draw_name(p, made.point)) return code;
  }
  s.keep(made);
  list_bcast(s, Part::raw(&made.point, sizeof made.point), 0);
  s.call<open_named>(&made);
  return success;
}

int make_comm(Process& p, Comm& comm, Group* group, Topology* topology, const char* name, Comm*& newcomm) {
  Comm* made = unnamed_comm(comm, group);
  made->topology = topology;
  Schedule schedule(p, comm, name, *made->group);
  int code = list_naming(p, schedule, *made);
  if (!code) code = schedule.run();
  if (code) release(made);
  else newcomm = made;
  return code;
}

// Down a binomial tree.
int name_by_tag(Process& p, Context context, MessageTag tag, Comm& made) {
  const int size = made.size(), self = made.rank();
  int low = 1;
  while (low < size && !(self & low)) low *= 2;
  if (self == 0) {
    if (int code = draw_name(p, made.point)) return code;
  } else {
    engine::RecvOperation op;
    auto* into = reinterpret_cast<std::byte*>(&made.point);
    p.engine->recv(op, context, made.group->world(self - low), tag, {into, sizeof made.point});
    p.engine->wait_for(op.complete, op.source);
  }
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (self + bit >= size) continue;
    engine::SendOperation op;
    auto* from = reinterpret_cast<const std::byte*>(&made.point);
    p.engine->send(op, context, made.group->world(self + bit), tag, {from, sizeof made.point},
                   engine::SendMode::standard);
    p.engine->wait_for(op.complete, op.destination);
  }
  open_contexts(p, made);
  return success;
}

Context creation_context(Process& p, Comm& comm) {
  const Context context = context_sibling(comm.point, ContextKind::creation);
  if (!comm.creation_open) p.engine->open_context(context);
  comm.creation_open = true;
  return context;
}

}  // namespace hf::mpi
