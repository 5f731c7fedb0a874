// A report that `holdfast run --report` has written, as it is read again (docs/report.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hf::daemon {

struct SavedReport {
  struct Program {
    std::string command;
    std::uint64_t ranks = 0;
  };
  struct Failure {
    std::uint64_t rank = 0, incarnation = 0;
    std::optional<std::uint64_t> call, messages_replayed;
    double time_s = 0;
    std::string signal;
    std::optional<double> detected_after_s, restarted_after_s, first_call_after_s, caught_up_after_s;
  };
  struct LostNode {
    std::uint64_t node = 0;
    std::optional<double> time_s;  // none: before a head was lost, nothing else is known
    std::string why;
    std::vector<std::uint64_t> ranks, moved_to;
    bool event_logger = false;
  };
  struct Totals {
    std::uint64_t messages_sent = 0, bytes_sent = 0, messages_logged = 0, bytes_logged = 0, messages_received = 0, bytes_received = 0;
    std::uint64_t messages_replayed = 0, determinants = 0;
  };
  struct RankLine {
    std::uint64_t rank = 0, node = 0, restarts = 0;
    std::string host;
    bool unprotected = false;
    Totals totals;
  };
  struct Note {
    double time_s = 0;
    std::int64_t rank = -1;
    std::string text;
  };

  std::string version, protocol, log_level;
  double started_s = 0;  // since 1970; 0: the report does not say
  std::vector<Program> programs;
  std::uint64_t rank_count = 0, node_count = 0, spare_count = 0, event_logger_count = 0, kills = 0, restarts = 0, lost_heads = 0;
  std::int64_t exit_code = 0;
  double duration_s = 0;
  Totals totals;
  std::vector<Failure> failures;
  std::vector<LostNode> lost_nodes;
  std::vector<RankLine> ranks;
  std::vector<Note> notes;
};

// An error: why it is no report, in a few words.
Result<SavedReport> read_report(std::string_view json);

// As people read it. Without `all` tables end after so many rows, and say so.
inline constexpr std::size_t report_rows_max = 32;
std::string format_report(const SavedReport& report, bool all);

// `holdfast report FILE`; an exit code.
int report_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
