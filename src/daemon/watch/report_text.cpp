#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/watch/saved_report.hpp"
#include "daemon/watch/short_numbers.hpp"

namespace hf::daemon {
namespace {

constexpr std::size_t host_bytes_max = 40;
constexpr double last_year_s = 253402300799;  // the end of 9999

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f} ms", *seconds * 1e3) : "-";
}

std::string at(double seconds) { return fmt::format("{:.3f} s", seconds); }

// "0-3, 7"
std::string ranges(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] - numbers[i] == end + 1 - i) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", numbers[i]);
    if (end > i) out += fmt::format("-{}", numbers[end]);
    i = end + 1;
  }
  return out.empty() ? "-" : out;
}

// The rest of a table that is cut.
std::string more(std::size_t rows, std::size_t shown) {
  return rows > shown ? fmt::format("  and {} more (--all)\n", rows - shown) : "";
}

std::string head_text(const SavedReport& r) {
  std::string out;
  for (const SavedReport::Program& program : r.programs) {
    out += fmt::format("{} ({})\n", printable(program.command), plural(program.ranks, "rank"));
  }
  std::string more;
  if (r.spare_count > 0) more = fmt::format("{} spare", r.spare_count);
  if (r.event_logger_count > 0) more += (more.empty() ? "" : ", ") + plural(r.event_logger_count, "event logger");
  if (!more.empty()) more = " (" + more + ")";
  out += fmt::format("{} on {}{}, protocol {}", plural(r.rank_count, "rank"), plural(r.node_count, "node"), more, printable(r.protocol));
  if (r.protocol != "none") out += fmt::format(", log level {}", printable(r.log_level));
  out += fmt::format(" (holdfast {})\n", printable(r.version));
  if (r.started_s > 0 && r.started_s < last_year_s) {
    out += fmt::format("started {:%Y-%m-%d %H:%M:%S} UTC, ", fmt::gmtime(static_cast<std::time_t>(r.started_s)));
  }
  out += fmt::format("{} after {:.3f} s with exit code {}\n", r.exit_code == 0 ? "ended well" : "failed", r.duration_s, r.exit_code);
  return out;
}

std::string no_failures_text(const SavedReport& r) {
  if (r.restarts > 0) return fmt::format("{} of ranks\n", plural(r.restarts, "restart"));
  return r.lost_heads > 0 ? "" : "no rank died\n";
}

std::string failures_text(const SavedReport& r, std::size_t rows) {
  if (r.failures.empty()) return no_failures_text(r);
  constexpr const char* row = "{:>11} {:>5} {:>11} {:>8} {:>7} {:>14} {:>15} {:>16} {:>9}\n";
  std::string out = fmt::format("{} of ranks, {}\n", plural(r.failures.size(), "death"), plural(r.restarts, "restart"));
  out += fmt::format(row, "time", "rank", "incarnation", "signal", "call", "detected after", "restarted after", "caught up after",
                     "replayed");
  const std::size_t shown = std::min(rows, r.failures.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SavedReport::Failure& f = r.failures[i];
    out += fmt::format(row, at(f.time_s), f.rank, f.incarnation, printable(f.signal), number_or_dash(f.call), milliseconds(f.detected_after_s),
                       milliseconds(f.restarted_after_s), milliseconds(f.caught_up_after_s), number_or_dash(f.messages_replayed));
  }
  return out + more(r.failures.size(), shown);
}

std::string lost_heads_text(const SavedReport& r) {
  if (r.lost_heads == 0) return {};
  return fmt::format("{} {} lost: what is told of before is incomplete\n", plural(r.lost_heads, "head"), r.lost_heads == 1 ? "was" : "were");
}

std::string lost_nodes_text(const SavedReport& r, std::size_t rows) {
  if (r.lost_nodes.empty()) return {};
  std::string out = fmt::format("\n{} lost\n", plural(r.lost_nodes.size(), "node"));
  const std::size_t shown = std::min(rows, r.lost_nodes.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SavedReport::LostNode& lost = r.lost_nodes[i];
    out += fmt::format("{:>11} node {}: {}", lost.time_s ? at(*lost.time_s) : "-", lost.node, printable(lost.why));
    const std::string ranks = fmt::format("; rank{} {}", lost.ranks.size() == 1 ? "" : "s", ranges(lost.ranks));
    if (lost.event_logger) out += "; it was an event logger\n";
    else if (!lost.time_s) out += "\n";
    else if (lost.ranks.empty()) out += "; it had no ranks\n";
    else if (lost.moved_to.empty()) out += ranks + " did not start again\n";
    else out += fmt::format("{} started again on node{} {}\n", ranks, lost.moved_to.size() == 1 ? "" : "s", ranges(lost.moved_to));
  }
  return out + more(r.lost_nodes.size(), shown);
}

std::string ranks_text(const SavedReport& r, std::size_t rows) {
  if (r.ranks.empty()) return {};
  const std::size_t shown = std::min(rows, r.ranks.size());
  std::size_t width = 4;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, printable(r.ranks[i].host, host_bytes_max).size());
  using Numbers = std::array<std::string, 8>;
  auto line = [&](auto rank, auto node, const std::string& host, auto restarts, const Numbers& numbers, const char* mark) {
    std::string text = fmt::format("{:>5} {:>4} {:<{}} {:>8}", rank, node, host, width, restarts);
    for (const std::string& number : numbers) text += fmt::format(" {:>8}", number);
    return text + mark + "\n";
  };
  auto numbers = [](const SavedReport::Totals& t) {
    auto count = [](std::uint64_t n) { return short_count(static_cast<double>(n)); };
    auto bytes = [](std::uint64_t n) { return short_bytes(static_cast<double>(n)); };
    return Numbers{count(t.messages_sent),   bytes(t.bytes_sent),   count(t.messages_received), bytes(t.bytes_received),
                   count(t.messages_logged), bytes(t.bytes_logged), count(t.determinants),      count(t.messages_replayed)};
  };
  const Numbers titles = {"sent", "bytes", "received", "bytes", "logged", "bytes", "events", "replayed"};
  std::string out = "\n" + line("rank", "node", "host", "restarts", titles, "");
  for (std::size_t i = 0; i < shown; ++i) {
    const SavedReport::RankLine& rank = r.ranks[i];
    const std::string host = printable(rank.host, host_bytes_max);
    out += line(rank.rank, rank.node, host, rank.restarts, numbers(rank.totals), rank.unprotected ? "  unprotected" : "");
  }
  out += more(r.ranks.size(), shown);
  return out + line("all", "", "", r.restarts, numbers(r.totals), "");
}

std::string notes_text(const SavedReport& r, std::size_t rows) {
  if (r.notes.empty()) return {};
  std::string out = "\nnotes\n";
  const std::size_t shown = std::min(rows, r.notes.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SavedReport::Note& note = r.notes[i];
    out += fmt::format("{:>11} {}{}\n", at(note.time_s), note.rank >= 0 ? fmt::format("rank {}: ", note.rank) : "", printable(note.text));
  }
  return out + more(r.notes.size(), shown);
}

}  // namespace

std::string format_report(const SavedReport& r, bool all) {
  const std::size_t rows = all ? SIZE_MAX : report_rows_max;
  return head_text(r) + "\n" + lost_heads_text(r) + failures_text(r, rows) + lost_nodes_text(r, rows) + ranks_text(r, rows) + notes_text(r, rows);
}

}  // namespace hf::daemon
