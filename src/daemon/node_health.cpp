#include "daemon/node_health.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/segments.hpp"

namespace hf::daemon {
namespace {

// Of an agent: sockets, pipes and pidfds of its own; of each rank: pipes, pidfds, doorbell, connection, control segments of some
// incarnations; the first log segments; and connections of ranks of other nodes that read logs.
constexpr std::uint64_t files_of_agent = 48, files_of_rank = 16, segments_of_rank = 4;
constexpr std::int64_t clock_step_ns_max = 5'000'000;

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20); }

}  // namespace

NodeNeeds needs_of(const Job& job, int ranks) {
  NodeNeeds out;
  out.ranks = ranks;
  const std::uint64_t control = segment::control_bytes(job.rank_count()), count = static_cast<std::uint64_t>(ranks);
  out.segment_bytes = out.process_bytes = control;
  out.open_files = files_of_rank * count;
  if (job.protocol != wire::Protocol::none) {
    const std::uint64_t segment = choose_segment_bytes(job.log_memory_bytes);
    out.segment_bytes = std::max(control, segment);
    out.process_bytes += std::max(job.log_ready_bytes, segment);
    out.open_files += (job.log_ready_bytes / segment + segments_of_rank) * count;
    if (job.log_disk_bytes > 0) out.log_directory = job.log_directory;
    if (job.log_disk_bytes != log_disk_unlimited) out.disk_bytes = std::min(job.log_disk_bytes, segment);
  }
  out.memory_bytes = out.process_bytes * count;
  return out;
}

NodeNeeds needs_at_start(const Job& job, int agent) {
  int ranks = 0;
  for (int node = 0; node < job.node_count; ++node) {
    if (node == agent || agent >= job.node_count) ranks = std::max(ranks, job.local_size(node));
  }
  // An event logger has no logs, but a board.
  NodeNeeds out = job.is_event_logger(agent) ? NodeNeeds{.segment_bytes = segment::control_bytes(job.rank_count())} : needs_of(job, ranks);
  out.open_files += files_of_agent + static_cast<std::uint64_t>(job.rank_count());
  return out;
}

std::string why_unfit(const NodeNeeds& needs, const NodeState& state) {
  if (state.clock_step_ns == 0) return "its monotonic clock stands still";
  if (state.clock_step_ns > clock_step_ns_max) {
    return fmt::format("its clock moves every {} ms only: times are not kept with that", state.clock_step_ns / 1'000'000);
  }
  if (state.open_files < needs.open_files) {
    return fmt::format("{} more files can be opened there, {} are needed: raise ulimit -n", state.open_files, needs.open_files);
  }
  if (state.file_bytes < needs.segment_bytes) {
    return fmt::format("files there may have {}, segments of {} are needed: raise ulimit -f", mebibytes(state.file_bytes),
                       mebibytes(needs.segment_bytes));
  }
  if (state.process_bytes < needs.process_bytes) {
    return fmt::format("a process there may have {} more, a rank's message log takes {}: raise ulimit -v, or lower --log-ready",
                       mebibytes(state.process_bytes), mebibytes(needs.process_bytes));
  }
  if (state.memory_bytes < needs.memory_bytes) {
    return fmt::format("{} of memory are left there, the message logs of {} ranks take {}: lower --log-ready",
                       mebibytes(state.memory_bytes), needs.ranks, mebibytes(needs.memory_bytes));
  }
  if (!state.memory_file_error.empty()) return state.memory_file_error;
  if (!state.directory_error.empty()) return fmt::format("{} (--log-dir, or --log-disk 0)", state.directory_error);
  if (state.disk_bytes < needs.disk_bytes) {
    return fmt::format("the log directory {} is full: {} are free (--log-dir, or --log-disk 0)", needs.log_directory,
                       mebibytes(state.disk_bytes));
  }
  return {};
}

}  // namespace hf::daemon
