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
#include "mpi/p2p_request.hpp"
#include "mpi/process.hpp"
#include "os/standard_streams.hpp"

namespace hf::mpi {
namespace {

constexpr int thread_single = 0, thread_funneled = 1024, thread_serialized = 2048, thread_multiple = 4096;
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

int start_process(Process& p, int asked) {
  const int level = std::min(asked, thread_serialized);
  if (p.phase != Process::Phase::before_init) {
    return p.explain(err_other, p.phase == Process::Phase::initialized ? "MPI_Init was called already"
                                                                       : "MPI_Init after MPI_Finalize");
  }
  auto joined = engine::Engine::join();
  if (!joined) return p.explain(err_other, joined.error().text);
  p.engine = std::move(*joined);
  p.main_thread = p.only_thread = Process::this_thread();
  p.thread_level = level;
  const engine::JobMap& job = p.engine->job();
  std::vector<Rank> everyone;
  for (int rank = 0; rank < job.rank_count; ++rank) everyone.push_back(Rank(rank));
  if (!std::ranges::all_of(job.collective_rules, core::collectives::valid)) {
    return p.explain(err_other, "the launcher's table of collective algorithms is damaged");
  }
  p.choices.replace(job.collective_rules);
  p.world = make_predefined(p, "MPI_COMM_WORLD", std::move(everyone), job.self.value, world_context(ContextKind::point));
  p.self = make_predefined(p, "MPI_COMM_SELF", {job.self}, 0, self_context(job.self, ContextKind::point));
  complete_info_env(p);
  p.phase = Process::Phase::initialized;
  p.engine->mark_initialized();
  if (level == thread_serialized || job.orders_threads) p.order_threads(asked > level && !job.orders_threads);
  else p.engine->leave_threads_unordered();
  return success;
}

// Programs seldom look at what is provided. Rank 0 speaks for all.
void note_thread_level(Process& p, int required) {
  if (required <= p.thread_level || p.engine->job().self != Rank(0)) return;
  p.engine->note("MPI_Init_thread: MPI_THREAD_MULTIPLE was asked for, MPI_THREAD_SERIALIZED is provided: only one thread at a "
                 "time may call MPI");
}

}  // namespace

int init(Process& p, int*, char***) { return start_process(p, thread_single); }

int init_thread(Process& p, int*, char***, int required, int& provided) {
  if (required != thread_single && required != thread_funneled && required != thread_serialized &&
      required != thread_multiple) {
    return p.explain(err_arg, fmt::format("{} is not one of the levels of thread support", required));
  }
  if (int code = start_process(p, required)) return code;
  provided = p.thread_level;
  note_thread_level(p, required);
  return success;
}

int finalize(Process& p) {
  // The attributes of MPI_COMM_SELF go first, while MPI still works (MPI 5.0, 11.2.4).
  if (int code = delete_attributes(p, *p.self)) return code;
  flush_all_buffers(p);
  if (int code = barrier(p, *p.world)) return code;
  p.sweep_buried();
  p.engine->finalize();
  p.phase = Process::Phase::finalized;
  return success;
}

int initialized(Process& p, int& flag) {
  flag = p.phase != Process::Phase::before_init;
  return success;
}

int finalized(Process& p, int& flag) {
  flag = p.phase == Process::Phase::finalized;
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
  flag = p.on_main_thread();
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
