#include "mpi/joining.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mpi/buffered_calls.hpp"
#include "mpi/info.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr std::pair<int, std::string_view> levels[] = {{thread_single, "MPI_THREAD_SINGLE"},
                                                       {thread_funneled, "MPI_THREAD_FUNNELED"},
                                                       {thread_serialized, "MPI_THREAD_SERIALIZED"},
                                                       {thread_multiple, "MPI_THREAD_MULTIPLE"}};

int join_first(Process& p, int asked) {
  auto joined = engine::Engine::join();
  if (!joined) return p.explain(err_other, joined.error().text);
  p.engine = std::move(*joined);
  p.main_thread = p.only_thread = Process::this_thread();
  p.thread_level = std::min(asked, thread_serialized);
  const engine::JobMap& job = p.engine->job();
  if (!std::ranges::all_of(job.collective_rules, core::collectives::valid)) {
    return p.explain(err_other, "the launcher's table of collective algorithms is damaged");
  }
  p.choices.replace(job.collective_rules);
  complete_info_env(p);
  p.phase = Process::Phase::joined;
  if (p.thread_level == thread_serialized || job.orders_threads) p.order_threads(asked > p.thread_level && !job.orders_threads);
  else p.engine->leave_threads_unordered();
  return success;
}

int join_again(Process& p) {
  auto joined = p.engine->join_again();
  if (!joined) return p.explain(err_other, joined.error().text);
  p.phase = Process::Phase::joined;
  return success;
}

}  // namespace

std::optional<int> thread_level_named(std::string_view name) {
  auto found = std::ranges::find(levels, name, [](const auto& level) { return level.second; });
  return found == std::end(levels) ? std::nullopt : std::optional(found->first);
}

std::string_view thread_level_name(int level) {
  return std::ranges::find(levels, level, [](const auto& known) { return known.first; })->second;
}

int join_job(Process& p, int asked, By by) {
  if (p.phase == Process::Phase::joined && by == By::session) return success;
  int code = success;
  if (p.phase == Process::Phase::before_join) code = join_first(p, asked);
  if (p.phase == Process::Phase::left) code = join_again(p);
  if (!code) p.engine->mark_initialized(by == By::init);
  return code;
}

bool is_in_use(const Process& p) { return p.open_sessions > 0 || p.world_phase == Process::World::initialized; }

void leave_job(Process& p) {
  give_up_process_buffer(p);
  p.sweep_buried();
  p.engine->finalize();
  p.phase = Process::Phase::left;
}

// Rank 0 speaks for all.
void note_thread_level(Process& p, const char* function, int required) {
  if (required <= p.thread_level || p.engine->job().self != Rank(0)) return;
  const char* why = p.thread_level == thread_serialized ? "only one thread at a time may call MPI"
                                                        : "the first MPI_Init or MPI_Session_init of a process has fixed it";
  p.engine->note(fmt::format("{}: {} was asked for, {} is provided: {}", function, thread_level_name(required),
                             thread_level_name(p.thread_level), why));
}

std::vector<Rank> all_ranks(const engine::JobMap& job) {
  std::vector<Rank> everyone;
  for (int rank = 0; rank < job.rank_count; ++rank) everyone.push_back(Rank(rank));
  return everyone;
}

}  // namespace hf::mpi
