#include "daemon/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

struct Stretch {
  std::int64_t from = 0, to = 0;
};

Stretch inside(Stretch outer, std::int64_t from, std::int64_t to) {
  from = std::clamp(from, outer.from, outer.to);
  return {from, std::clamp(to, from, outer.to)};
}

class Trace {
 public:
  explicit Trace(Instant start) : start_(start) {}
  void name(const char* what, int process, int thread, const std::string& name) {
    events_.push_back({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  }
  void span(const std::string& name, int process, int thread, Stretch when, OrderedJson arguments = {}) {
    const std::int64_t from = at(when.from);
    OrderedJson event = {{"ph", "X"}, {"name", name}, {"pid", process}, {"tid", thread}, {"ts", from}, {"dur", at(when.to) - from}};
    if (!arguments.is_null()) event["args"] = std::move(arguments);
    events_.push_back(std::move(event));
  }
  void instant(const std::string& name, int process, int thread, std::int64_t time, const char* scope = of_thread) {
    events_.push_back({{"ph", "i"}, {"s", scope}, {"name", name}, {"pid", process}, {"tid", thread}, {"ts", at(time)}});
  }
  static constexpr const char *of_thread = "t", *of_process = "p";
  std::string text() const {
    const OrderedJson all = {{"displayTimeUnit", "ms"}, {"traceEvents", events_}};
    return all.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }

 private:
  // Whole microseconds: what nests does so to the last digit.
  std::int64_t at(std::int64_t ns) const { return (ns - start_.value) / 1000; }
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

// What began at the same time: the longer one first, and the other one in it.
void trace_init_and_replay(Trace& trace, const IncarnationRecord& r, int node, int rank, Stretch life) {
  const auto init = [&] {
    if (r.joined_ns != 0 && r.initialized_ns != 0) trace.span("MPI_Init", node, rank, inside(life, r.joined_ns, r.initialized_ns));
  };
  const bool init_is_longer = r.initialized_ns > r.caught_up_ns;
  if (init_is_longer) init();
  if (r.caught_up_ns != 0) {
    trace.span("replay", node, rank, inside(life, r.joined_ns != 0 ? r.joined_ns : r.started_ns, r.caught_up_ns),
               {{"calls", r.calls_replayed},
                {"messages replayed", r.messages_replayed},
                {"sends suppressed", r.sends_suppressed},
                {"determinants", r.determinants_replayed}});
  }
  if (!init_is_longer) init();
}

void trace_incarnation(Trace& trace, const IncarnationRecord& r, int node, int rank, Stretch life) {
  OrderedJson arguments = {{"incarnation", r.number}};
  if (r.end_signal != 0) {
    arguments["ended by"] = os::signal_name(r.end_signal);
    if (r.end_call) arguments["in MPI call"] = *r.end_call;
  }
  trace.span(fmt::format("incarnation {}", r.number), node, rank, life, arguments);
  trace_init_and_replay(trace, r, node, rank, life);
  if (r.killed_ns != 0) trace.instant("kill", node, rank, r.killed_ns);
  if (r.finalized_ns != 0) trace.instant("MPI_Finalize", node, rank, r.finalized_ns);
}

// One after the other, each on the node where it was; a viewer drops spans of one line that overlap, and agents' clocks are not quite ours.
void trace_rank(Trace& trace, const Timeline& timeline, const Job& job, int rank) {
  std::vector<const IncarnationRecord*> all;
  for (const IncarnationRecord& r : timeline.ranks()[static_cast<std::size_t>(rank)].incarnations) {
    if (r.started_ns != 0) all.push_back(&r);
  }
  std::set<int> nodes = {job.node_of(rank)};
  std::int64_t free_from = INT64_MIN;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const IncarnationRecord& r = *all[i];
    const int node = r.node >= 0 ? r.node : job.node_of(rank);
    nodes.insert(node);
    const std::int64_t next = i + 1 < all.size() ? all[i + 1]->started_ns : timeline.end().value;
    const std::int64_t from = std::max(r.started_ns, free_from);
    free_from = std::max(from, r.ended_ns != 0 ? std::min(r.ended_ns, next) : next);
    trace_incarnation(trace, r, node, rank, {from, free_from});
    if (r.end_signal == 0 || i + 1 == all.size() || next <= free_from) continue;
    trace.span("down", node, rank, {free_from, next});
    free_from = next;
  }
  for (int node : nodes) trace.name("thread_name", node, rank, fmt::format("rank {}", rank));
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
  for (int node = 0; node < job.agent_count(); ++node) {
    trace.name("process_name", node, 0, fmt::format("node {} ({})", node, job.node_name(node)));
  }
  for (const LostNode& lost : timeline.lost_nodes()) {
    if (lost.time_ns != 0) trace.instant(fmt::format("node lost: {}", lost.why), lost.node, 0, lost.time_ns, Trace::of_process);
  }
  for (int rank = 0; rank < job.rank_count(); ++rank) trace_rank(trace, timeline, job, rank);
  return trace.text();
}

}  // namespace hf::daemon
