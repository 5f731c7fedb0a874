// Start, end and environment of the process (MPI 5.0, chapters 9 and 11).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/api.hpp"
#include "mpi/buffered_calls.hpp"
#include "mpi/context_name.hpp"
#include "mpi/joining.hpp"
#include "mpi/process.hpp"
#include "os/standard_streams.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t max_processor_name = 256;

Comm* make_predefined(Process& p, const char* name, std::vector<Rank> members, int self, Context point) {
  Comm* comm = new Comm;
  comm->predefined = true;
  comm->name = name;
  comm->group = new Group;
  comm->group->members = std::move(members);
  comm->group->self = self;
  comm->point = point;
  comm->collective = context_sibling(point, ContextKind::collective);
  comm->engine = p.engine.get();
  comm->errhandler = &p.errors_are_fatal;
  ++p.errors_are_fatal.references;
  p.engine->open_context(comm->point);
  p.engine->open_context(comm->collective);
  return comm;
}

// MPI_COMM_WORLD and MPI_COMM_SELF, once in the life of a process (11.2.1).
int begin_world(Process& p, int asked) {
  if (p.world_phase != Process::World::before_init) {
    return p.explain(err_other, p.world_phase == Process::World::initialized ? "MPI_Init was called already"
                                                                             : "MPI_Init after MPI_Finalize");
  }
  if (int code = join_job(p, asked, By::init)) return code;
  const engine::JobMap& job = p.engine->job();
  p.world = make_predefined(p, "MPI_COMM_WORLD", all_ranks(job), job.self.value, world_context(ContextKind::point));
  p.self = make_predefined(p, "MPI_COMM_SELF", {job.self}, 0, self_context(job.self, ContextKind::point));
  p.world_thread = Process::this_thread();
  p.world_phase = Process::World::initialized;
  return success;
}

}  // namespace

int init(Process& p, int*, char***) { return begin_world(p, thread_single); }

int init_thread(Process& p, int*, char***, int required, int& provided) {
  if (required != thread_single && required != thread_funneled && required != thread_serialized &&
      required != thread_multiple) {
    return p.explain(err_arg, fmt::format("{} is not one of the levels of thread support", required));
  }
  if (int code = begin_world(p, required)) return code;
  provided = p.thread_level;
  note_thread_level(p, "MPI_Init_thread", required);
  return success;
}

// What sessions have is theirs, and stays (11.2.2).
int finalize(Process& p) {
  if (p.world_phase != Process::World::initialized) {
    return p.explain(err_other, p.world_phase == Process::World::finalized ? "MPI_Finalize was called already" : "MPI_Init has not been called");
  }
  // The attributes of MPI_COMM_SELF go first, while MPI still works (MPI 5.0, 11.2.4).
  if (int code = delete_attributes(p, *p.self)) return code;
  flush_buffers(p, nullptr);
  if (int code = barrier(p, *p.world)) return code;
  p.world_phase = Process::World::finalized;
  if (!is_in_use(p)) leave_job(p);
  return success;
}

int initialized(Process& p, int& flag) {
  flag = p.world_phase != Process::World::before_init;
  return success;
}

int finalized(Process& p, int& flag) {
  flag = p.world_phase == Process::World::finalized;
  return success;
}

// What the program has printed is written out first: the engine ends the process at once.
int abort(Process& p, Comm& comm, int errorcode) {
  os::flush_streams();
  p.engine->abort(exit_code(errorcode), fmt::format("rank {} called MPI_Abort({}, {})", p.engine->job().self.value,
                                                    comm.name.empty() ? "a communicator" : comm.name, errorcode));
}

int query_thread(Process& p, int& provided) {
  provided = p.thread_level;
  return success;
}

int is_thread_main(Process& p, int& flag) {
  flag = Process::this_thread() == p.world_thread;
  return success;
}

int get_version(Process&, int& version, int& subversion) {
  version = 5;
  subversion = 0;
  return success;
}

int get_library_version(Process&, char* version, int& resultlen) {
  constexpr std::string_view text = "Holdfast " HOLDFAST_VERSION " (MPI 5.0, standard ABI)";
  std::memcpy(version, text.data(), text.size());
  version[text.size()] = '\0';
  resultlen = static_cast<int>(text.size());
  return success;
}

// The node of the original map, so that a rank that was moved says what it said before.
int get_processor_name(Process& p, char* name, int& resultlen) {
  std::string text = p.engine->job().node_name;
  if (text.empty()) {
    char host[max_processor_name] = "";
    gethostname(host, sizeof host - 1);
    text = host;
  }
  text.resize(std::min(text.size(), max_processor_name - 1));
  std::memcpy(name, text.c_str(), text.size() + 1);
  resultlen = static_cast<int>(text.size());
  return success;
}

// Programs read it in all their threads at once, whatever level they have asked for, and every MPI lets them.
double wtime(Process& p) {
  if (!p.engine) return engine::Engine::time_before_join();
  return p.on_main_thread() ? p.engine->wtime() : p.engine->time_of_another_thread();
}

double wtick(Process&) { return 1e-9; }

int alloc_mem(Process& p, Count size, Info* info, void* baseptr) {
  if (size < 0) return p.explain(err_arg, fmt::format("size {} is negative", size));
  std::size_t alignment = 64;
  if (info) {
    for (const auto& [key, value] : info->entries) {
      if (key != "mpi_minimum_memory_alignment") continue;
      const unsigned long wanted = std::strtoul(value.c_str(), nullptr, 10);
      if (wanted == 0 || (wanted & (wanted - 1)) != 0) {
        return p.explain(err_info_value, fmt::format("mpi_minimum_memory_alignment={} is not a power of two", value));
      }
      alignment = std::max<std::size_t>(alignment, wanted);
    }
  }
  const std::size_t bytes = (static_cast<std::size_t>(size) + alignment) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes);
  if (!memory) return p.explain(err_no_mem, fmt::format("no memory for {} bytes", size));
  *static_cast<void**>(baseptr) = memory;
  return success;
}

int free_mem(Process&, void* base) {
  std::free(base);
  return success;
}

int pcontrol(Process&, int) { return success; }

// The standard leaves the keys to the library; Holdfast restricts no rank to a part of the machine, so there are none.
int get_hw_resource_info(Process&, Info*& hw_info) {
  hw_info = new Info;
  return success;
}

}  // namespace hf::mpi
