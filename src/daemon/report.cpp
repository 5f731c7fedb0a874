#include "daemon/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/watch/short_numbers.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string milliseconds(std::optional<std::int64_t> ns) {
  return ns ? fmt::format("{:.1f} ms", static_cast<double>(*ns) / 1e6) : "-";
}

OrderedJson seconds(std::optional<std::int64_t> ns) {
  return ns ? OrderedJson(static_cast<double>(*ns) / 1e9) : OrderedJson(nullptr);
}

segment::Counters totals(const RankRecord& rank) {
  segment::Counters out{};
  for (const IncarnationRecord& r : rank.incarnations) {
    if (r.counters) out += *r.counters;
  }
  return out;
}

OrderedJson or_null(std::optional<std::uint64_t> number) { return number ? OrderedJson(*number) : OrderedJson(nullptr); }

OrderedJson counters_json(const segment::Counters& c) {
  return {{"messages_sent", c.messages_sent},         {"bytes_sent", c.bytes_sent},
          {"messages_logged", c.messages_logged},     {"bytes_logged", c.bytes_logged},
          {"messages_received", c.messages_received}, {"bytes_received", c.bytes_received},
          {"bytes_unprotected", c.bytes_unprotected}, {"determinants", c.determinants},
          {"messages_replayed", c.messages_replayed}, {"sends_suppressed", c.sends_suppressed},
          {"dependency_frames", c.dependency_frames}, {"dependency_bytes", c.dependency_bytes},
          {"log_left", c.log_left}};
}

class Trace {
 public:
  explicit Trace(Instant start) : start_(start) {}
  void name(const char* what, int process, int thread, const std::string& name) {
    events_.push_back({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  }
  void span(const std::string& name, int process, int thread, std::int64_t from, std::int64_t to, OrderedJson arguments = {}) {
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", at(from)},
                       {"dur", static_cast<double>(to - from) / 1e3},
                       {"args", std::move(arguments)}});
  }
  void instant(const std::string& name, int process, int thread, std::int64_t time) {
    events_.push_back({{"ph", "i"}, {"s", "t"}, {"name", name}, {"pid", process}, {"tid", thread}, {"ts", at(time)}});
  }
  std::string text() const {
    const OrderedJson all = {{"displayTimeUnit", "ms"}, {"traceEvents", events_}};
    return all.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }

 private:
  double at(std::int64_t ns) const { return static_cast<double>(ns - start_.value) / 1e3; }
  Instant start_;
  OrderedJson events_ = OrderedJson::array();
};

OrderedJson programs_json(const Job& job) {
  OrderedJson out = OrderedJson::array();
  for (const Program& program : job.programs) {
    out.push_back({{"command", fmt::format("{}", fmt::join(program.arguments, " "))}, {"ranks", program.count}});
  }
  return out;
}

OrderedJson lost_nodes_json(const Timeline& timeline, const Job& job) {
  OrderedJson out = OrderedJson::array();
  for (const LostNode& lost : timeline.lost_nodes()) {
    const auto since_start = lost.time_ns != 0 ? std::optional(lost.time_ns - timeline.start().value) : std::nullopt;
    out.push_back({{"node", lost.node},
                   {"time_s", seconds(since_start)},
                   {"why", lost.why},
                   {"event_logger", job.is_event_logger(lost.node)},
                   {"ranks", lost.ranks},
                   {"moved_to", lost.moved_to}});
  }
  return out;
}

// Ranks that depended on what was lost.
OrderedJson rolled_back_json(const Timeline& timeline) {
  OrderedJson out = OrderedJson::array();
  for (std::size_t rank = 0; rank < timeline.ranks().size(); ++rank) {
    for (const IncarnationRecord& r : timeline.ranks()[rank].incarnations) {
      if (!r.rolled_back) continue;
      out.push_back({{"rank", rank}, {"incarnation", r.number}, {"time_s", seconds(r.ended_ns - timeline.start().value)}, {"call", or_null(r.end_call)}});
    }
  }
  return out;
}

OrderedJson detection_json(const TreeSettings& tree) {
  constexpr double ms = 1e6;
  const auto& m = tree.membership;
  return {{"fan_out", tree.tree.fan_out},
          {"heartbeat_ms", static_cast<double>(m.heartbeat_ns) / ms},
          {"silence_least_ms", static_cast<double>(m.silence_floor_ns) / ms},
          {"silence_most_ms", static_cast<double>(m.silence_ceiling_ns) / ms},
          {"agent_silence_ms", static_cast<double>(m.agent_silence_ns) / ms},
          {"silence_deviations", m.deviations},
          {"first_contact_ms", static_cast<double>(m.contact_ns) / ms},
          {"cut_off_s", static_cast<double>(m.silent_parent_ns) / ms / 1e3}};
}

void trace_incarnation(Trace& trace, const Timeline& timeline, int node, int rank, std::size_t index) {
  const auto& all = timeline.ranks()[static_cast<std::size_t>(rank)].incarnations;
  const IncarnationRecord& r = all[index];
  if (r.started_ns == 0) return;
  std::int64_t end = r.ended_ns != 0 ? r.ended_ns : timeline.end().value;
  OrderedJson arguments = {{"incarnation", r.number}};
  if (r.end_signal != 0) {
    arguments["ended by"] = os::signal_name(r.end_signal);
    if (r.end_call) arguments["in MPI call"] = *r.end_call;
  }
  trace.span(fmt::format("incarnation {}", r.number), node, rank, r.started_ns, end, arguments);
  if (r.joined_ns != 0 && r.initialized_ns != 0) trace.span("MPI_Init", node, rank, r.joined_ns, r.initialized_ns);
  if (r.caught_up_ns != 0) {
    trace.span("replay", node, rank, r.joined_ns != 0 ? r.joined_ns : r.started_ns, r.caught_up_ns,
               {{"calls", r.calls_replayed},
                {"messages replayed", r.messages_replayed},
                {"sends suppressed", r.sends_suppressed},
                {"determinants", r.determinants_replayed}});
  }
  if (r.killed_ns != 0) trace.instant("kill", node, rank, r.killed_ns);
  if (r.end_signal != 0 && index + 1 < all.size() && all[index + 1].started_ns != 0) {
    trace.span("down", node, rank, r.killed_ns != 0 ? r.killed_ns : r.ended_ns, all[index + 1].started_ns);
  }
  if (r.finalized_ns != 0) trace.instant("MPI_Finalize", node, rank, r.finalized_ns);
}

}  // namespace

std::string summary(const Timeline& timeline) {
  std::vector<Timeline::Failure> failures = timeline.failures();
  if (failures.empty()) return {};
  constexpr const char* row = "holdfast: {:>9} {:>5} {:>8} {:>6} {:>15} {:>16} {:>16} {:>9}\n";
  std::string out = fmt::format(row, "time", "rank", "signal", "call", "detected after", "restarted after",
                                "caught up after", "replayed");
  constexpr std::size_t rows_max = 40;
  for (std::size_t i = 0; i < failures.size() && i < rows_max; ++i) {
    const Timeline::Failure& f = failures[i];
    out += fmt::format(row, fmt::format("{:.3f} s", static_cast<double>(f.at_ns) / 1e9), f.rank,
                       os::signal_name(f.signal), number_or_dash(f.call), milliseconds(f.detected_ns), milliseconds(f.restarted_ns),
                       milliseconds(f.caught_up_ns), number_or_dash(f.messages_replayed));
  }
  if (failures.size() > rows_max)
    out += fmt::format("holdfast: and {} more (see --report)\n", failures.size() - rows_max);
  return out;
}

std::string report_json(const Timeline& timeline, const Job& job, const TreeSettings& tree) {
  OrderedJson ranks = OrderedJson::array();
  segment::Counters all{};
  std::uint64_t restarts = 0;
  for (int rank = 0; rank < job.rank_count(); ++rank) {
    const RankRecord& record = timeline.ranks()[static_cast<std::size_t>(rank)];
    const segment::Counters sum = totals(record);
    all += sum;
    const std::size_t started = restarts_of(record);
    restarts += started;
    OrderedJson one = {
        {"rank", rank}, {"node", job.node_of(rank)}, {"host", job.node_name(job.node_of(rank))}, {"restarts", started},
        {"unprotected", record.unprotected}};
    one.update(counters_json(sum));
    ranks.push_back(std::move(one));
  }
  OrderedJson failures = OrderedJson::array();
  for (const Timeline::Failure& f : timeline.failures()) {
    failures.push_back({{"rank", f.rank},
                        {"incarnation", f.incarnation},
                        {"time_s", seconds(f.at_ns)},
                        {"signal", os::signal_name(f.signal)},
                        {"call", or_null(f.call)},
                        {"detected_after_s", seconds(f.detected_ns)},
                        {"restarted_after_s", seconds(f.restarted_ns)},
                        {"first_call_after_s", seconds(f.first_call_ns)},
                        {"caught_up_after_s", seconds(f.caught_up_ns)},
                        {"messages_replayed", or_null(f.messages_replayed)}});
  }
  OrderedJson notes = OrderedJson::array();
  for (const TimelineNote& note : timeline.notes()) {
    notes.push_back(
        {{"time_s", seconds(note.time_ns - timeline.start().value)}, {"rank", note.rank}, {"text", note.text}});
  }
  OrderedJson out = {{"holdfast", HOLDFAST_VERSION},
              {"programs", programs_json(job)},
              {"started_s", static_cast<double>(job.started_ns) / 1e9},
              {"protocol", job.protocol_name()},
              {"sender_log", job.sender_log},
              {"log_level", job.log_level_name()},
              {"rank_count", job.rank_count()},
              {"node_count", job.node_count},
              {"spare_count", job.spare_count},
              {"event_logger_count", job.event_logger_count},
              {"event_copies", job.event_copies},
              {"failure_detection", detection_json(tree)},
              {"exit_code", timeline.exit_code()},
              {"duration_s", seconds(timeline.end().value - timeline.start().value)},
              {"kills", failures.size()},
              {"restarts", restarts},
              {"totals", counters_json(all)},
              {"failures", failures},
              {"lost_nodes", lost_nodes_json(timeline, job)},
              {"lost_heads", timeline.lost_heads()},
              {"rolled_back", rolled_back_json(timeline)},
              {"ranks", ranks},
              {"notes", notes}};
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string trace_json(const Timeline& timeline, const Job& job) {
  Trace trace(timeline.start());
  for (int node = 0; node < job.node_count; ++node) {
    trace.name("process_name", node, 0, fmt::format("node {} ({})", node, job.node_name(node)));
  }
  for (int rank = 0; rank < job.rank_count(); ++rank) {
    int node = job.node_of(rank);
    trace.name("thread_name", node, rank, fmt::format("rank {}", rank));
    const auto& incarnations = timeline.ranks()[static_cast<std::size_t>(rank)].incarnations;
    for (std::size_t i = 0; i < incarnations.size(); ++i) trace_incarnation(trace, timeline, node, rank, i);
  }
  return trace.text();
}

}  // namespace hf::daemon
