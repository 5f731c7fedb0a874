// The table of `holdfast top` as text, from the head's answer to `watch`. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "daemon/clients/client_line.hpp"

namespace hf::daemon {

struct TopRow {
  std::uint64_t rank = 0, node = 0, incarnation = 0, restarts = 0;
  std::string state, waits_for;  // waits_for: "3", "any", "several" or nothing
  bool unprotected = false;
  std::optional<double> waits_s;
  double messages_sent_per_s = 0, bytes_sent_per_s = 0, messages_received_per_s = 0, bytes_received_per_s = 0;
  std::uint64_t log_memory_bytes = 0, log_disk_bytes = 0;
};

struct TopView {
  std::string job, command, protocol, log_level;
  double time_s = 0;  // since the job was started
  std::uint64_t ranks = 0, nodes = 0, spare_nodes = 0, event_loggers = 0, samples = 0, first = 0;
  std::vector<std::uint64_t> lost_nodes;
  std::vector<std::pair<std::string, std::uint64_t>> states;  // those in which there are ranks
  TopRow sum;
  std::vector<TopRow> rows;
};

// An error: the head is of another version.
Result<TopView> read_top(const Json& answer);

inline constexpr std::size_t top_head_lines = 4;
std::vector<std::string> top_head(const TopView& view);  // so many
std::string top_columns();
std::string top_line(const TopRow& row);

}  // namespace hf::daemon
