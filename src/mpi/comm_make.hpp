// What the ways of making a communicator share (MPI 5.0, 7.4.2 and 7.6.2). Names: docs/contexts.md.
#pragma once
#include "mpi/coll/schedule.hpp"
#include "mpi/comm.hpp"

namespace hf::mpi {

class Process;

// A communicator that has everything but its contexts; with its parent's error handler. The groups are taken over.
Comm* unnamed_comm(Errhandler& errhandler, Group* group, Group* remote = nullptr);
Comm* unnamed_comm(const Comm& parent, Group* group, Group* remote = nullptr);
Group* copy_group(const Group& from);  // with one reference; null for null
Group* copy_group(const Group* from);
// The members of both groups of an intercommunicator.
Group* both_groups(const Comm& inter, bool local_first);

// This process's next name; MPI_ERR_OTHER when none are left.
int draw_name(Process& p, Context& point);
// Opens the contexts of a communicator whose `point` is known.
void open_contexts(Process& p, Comm& made);
// Steps after which the communicator is named and open: from rank 0 of the schedule's members, who draws the name, to the
// others.
int list_naming(Process& p, Schedule& s, Comm& made);

// A communicator of the members of `group`, all of which call this and nobody else; `group` and `topology` (or null) are
// taken over. The messages that name it go through `comm`, where all members are.
int make_comm(Process& p, Comm& comm, Group* group, Topology* topology, const char* name, Comm*& newcomm);

// The same by messages with this tag in another context, among the members of the new communicator.
int name_by_tag(Process& p, Context context, MessageTag tag, Comm& made);

// The context for messages by which communicators are made; opened at its first use.
Context creation_context(Process& p, Comm& comm);

}  // namespace hf::mpi
