#include "daemon/watch/top_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/watch/short_numbers.hpp"

namespace hf::daemon {
namespace {

double real(const Json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}
std::uint64_t number(const Json& object, const char* name) { return number_member(object, name).value_or(0); }
std::string text(const Json& object, const char* name) { return printable(text_member(object, name).value_or("")); }

std::string joined(const Json& object, const char* name) {
  std::string out;
  auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return out;
  for (const Json& word : *found) {
    if (word.is_string()) out += (out.empty() ? "" : " ") + word.get<std::string>();
  }
  return printable(out);
}

TopRow read_row(const Json& in) {
  TopRow out;
  if (!in.is_object()) return out;
  out.rank = number(in, "rank");
  out.node = number(in, "node");
  out.incarnation = number(in, "incarnation");
  out.restarts = number(in, "restarts");
  out.state = text(in, "state");
  out.unprotected = flag_member(in, "unprotected");
  if (in.contains("waits_s")) out.waits_s = real(in, "waits_s");
  if (auto rank = number_member(in, "waits_for")) out.waits_for = fmt::to_string(*rank);
  else if (auto what = text_member(in, "waits_for")) out.waits_for = printable(*what);
  out.messages_sent_per_s = real(in, "messages_sent_per_s");
  out.bytes_sent_per_s = real(in, "bytes_sent_per_s");
  out.messages_received_per_s = real(in, "messages_received_per_s");
  out.bytes_received_per_s = real(in, "bytes_received_per_s");
  out.log_memory_bytes = number(in, "log_memory_bytes");
  out.log_disk_bytes = number(in, "log_disk_bytes");
  return out;
}

}  // namespace

Result<TopView> read_top(const Json& answer) {
  if (!answer.is_object() || !number_member(answer, "ranks") || !answer.contains("rows") || !answer["rows"].is_array()) {
    return fail("the job's answer is not understood: it runs under another version of holdfast");
  }
  TopView out;
  out.job = text(answer, "job");
  out.command = joined(answer, "command");
  out.protocol = text(answer, "protocol");
  out.log_level = text(answer, "log_level");
  out.time_s = real(answer, "time_s");
  out.ranks = number(answer, "ranks");
  out.nodes = number(answer, "nodes");
  out.spare_nodes = number(answer, "spare_nodes");
  out.event_loggers = number(answer, "event_loggers");
  out.samples = number(answer, "samples");
  out.first = number(answer, "first");
  if (auto lost = answer.find("lost_nodes"); lost != answer.end() && lost->is_array()) {
    for (const Json& node : *lost) {
      if (node.is_number_unsigned()) out.lost_nodes.push_back(node.get<std::uint64_t>());
    }
  }
  if (auto states = answer.find("states"); states != answer.end() && states->is_object()) {
    for (const auto& [name, count] : states->items()) {
      if (count.is_number_unsigned() && count != 0) out.states.emplace_back(printable(name), count.get<std::uint64_t>());
    }
  }
  if (answer.contains("sum")) out.sum = read_row(answer["sum"]);
  for (const Json& row : answer["rows"]) out.rows.push_back(read_row(row));
  return out;
}

std::vector<std::string> top_head(const TopView& v) {
  std::string nodes = plural(v.nodes, "node");
  if (v.spare_nodes > 0) nodes += fmt::format("{} {} spare", v.event_loggers > 0 ? "," : " and", v.spare_nodes);
  if (v.event_loggers > 0) nodes += " and " + plural(v.event_loggers, "event logger");
  if (!v.lost_nodes.empty()) nodes += fmt::format(", lost: {}", fmt::join(v.lost_nodes, ", "));
  std::string protocol = v.protocol == "none" ? "protocol none" : fmt::format("protocol {}, log level {}", v.protocol, v.log_level);
  std::string states;
  for (const auto& [name, count] : v.states) states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, name);
  const TopRow& sum = v.sum;
  return {fmt::format("job {}, {}: {}", v.job, short_time(v.time_s), v.command),
          fmt::format("{} on {}; {}", plural(v.ranks, "rank"), nodes, protocol),
          fmt::format("ranks: {}; {}", states, plural(sum.restarts, "restart")),
          fmt::format("all: {} messages/s, {}B/s; logs {}B in memory, {}B on disk", short_count(sum.messages_sent_per_s),
                      short_bytes(sum.bytes_sent_per_s), short_bytes(static_cast<double>(sum.log_memory_bytes)),
                      short_bytes(static_cast<double>(sum.log_disk_bytes)))};
}

std::string top_columns() {
  return fmt::format("{:>5} {:>4} {:>4} {:>3} {:>6} {:>5} {:>6} {:>5} {:>5}  {}", "RANK", "NODE", "INC", "RST", "SENT/s", "B/s", "RECV/s",
                     "B/s", "LOG", "STATE");
}

std::string top_line(const TopRow& row) {
  std::string state = row.state;
  if (row.waits_s) {
    const std::string waiting = row.waits_for.empty() ? "waiting" : "waiting for " + row.waits_for;
    state = (row.state == "waiting" ? "" : row.state + ", ") + waiting + ", " + short_time(*row.waits_s);
  }
  if (row.unprotected) state += ", unprotected";
  return fmt::format("{:>5} {:>4} {:>4} {:>3} {:>6} {:>5} {:>6} {:>5} {:>5}  {}", row.rank, row.node, row.incarnation, row.restarts,
                     short_count(row.messages_sent_per_s), short_bytes(row.bytes_sent_per_s), short_count(row.messages_received_per_s),
                     short_bytes(row.bytes_received_per_s),
                     short_bytes(static_cast<double>(row.log_memory_bytes) + static_cast<double>(row.log_disk_bytes)), state);
}

}  // namespace hf::daemon
