#include "mpi/comm_make.hpp"

#include <fmt/format.h>

#include "mpi/coll/algorithms.hpp"
#include "mpi/context_name.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

void open_named(Schedule& s, Comm*& made) { open_contexts(s.process(), *made); }

}  // namespace

Comm* unnamed_comm(const Comm& parent, Group* group, Group* remote) {
  auto* made = new Comm;
  made->group = group;
  made->remote = remote;
  made->errhandler = retain(parent.errhandler);
  return made;
}

Group* copy_group(const Group& from) {
  auto* group = new Group;
  group->members = from.members;
  group->self = from.self;
  return group;
}

Group* copy_group(const Group* from) { return from ? copy_group(*from) : nullptr; }

Group* both_groups(const Comm& inter) {
  const Group &first = inter.is_lower() ? *inter.group : *inter.remote, &second = inter.is_lower() ? *inter.remote : *inter.group;
  Group* both = copy_group(first);
  both->members.insert(both->members.end(), second.members.begin(), second.members.end());
  both->self = inter.rank() + (inter.is_lower() ? 0 : first.size());
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

Context creation_context(Process& p, Comm& comm) {
  const Context context = context_sibling(comm.point, ContextKind::creation);
  if (!comm.creation_open) p.engine->open_context(context);
  comm.creation_open = true;
  return context;
}

}  // namespace hf::mpi
