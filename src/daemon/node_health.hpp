// Whether a node can do its part: what it needs for its ranks, what its agent finds there, and what is said when they do not fit.
#pragma once
#include <cstdint>
#include <string>

#include "daemon/job.hpp"

namespace hf::daemon {

struct NodeNeeds {
  int ranks = 0;
  std::uint64_t segment_bytes = 0;  // of the largest file in memory
  std::uint64_t memory_bytes = 0;   // of all its ranks' segments, before the program's first call
  std::uint64_t process_bytes = 0;  // that a rank maps of them
  std::string log_directory;        // empty: nothing is spilled
  std::uint64_t disk_bytes = 0;     // that must be free there: 0: as much as there is
  std::uint64_t open_files = 0;     // of the agent
};

// For the first ranks of that agent; for a spare one: those of the largest node; for an event logger: none. Pure.
NodeNeeds needs_at_start(const Job& job, int agent);
// For so many more. Pure.
NodeNeeds needs_of(const Job& job, int ranks);

struct NodeState {
  std::string memory_file_error;             // of a file of segment_bytes
  std::uint64_t memory_bytes = UINT64_MAX;   // that can still be had
  std::uint64_t process_bytes = UINT64_MAX;  // ulimit -v
  std::uint64_t file_bytes = UINT64_MAX;     // ulimit -f
  std::string directory_error;               // what the user has named cannot be used
  std::uint64_t disk_bytes = UINT64_MAX;     // free in the directory
  std::uint64_t open_files = UINT64_MAX;     // that can still be opened
  std::int64_t clock_step_ns = 1;  // between readings; 0: it stands still
};

// By trying. Some milliseconds.
NodeState look_at_node(const NodeNeeds& needs);

// What the machine has in all, or the control groups that this process is in, if that is less.
std::uint64_t memory_of_machine();

// For the user, with what to do; empty: it is fit. Pure.
std::string why_unfit(const NodeNeeds& needs, const NodeState& state);

}  // namespace hf::daemon
