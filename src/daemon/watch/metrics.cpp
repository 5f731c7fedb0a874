#include "daemon/watch/metrics.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <sstream>

namespace hf::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using segment::Counters;

// One family at a time: with thousands of ranks all of them would be large.
class Text {
 public:
  Text() { out_.imbue(std::locale::classic()); }

  void begin(const char* name, const char* help, MetricType type) {
    end();
    family_ = {name, help, type, {}};
  }
  void add(std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  std::string take() {
    end();
    return std::move(out_).str();
  }

 private:
  void end() {
    if (!family_.metric.empty()) prometheus::TextSerializer().Serialize(out_, {family_});
    family_.metric.clear();
  }
  std::ostringstream out_;
  MetricFamily family_;
};

struct RankMetric {
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const RankRow&);
};

template <std::uint64_t Counters::* which>
double total(const RankRow& row) {
  return static_cast<double>(row.totals.*which);
}

constexpr RankMetric rank_metrics[] = {
    {"holdfast_rank_node", "Number of the node that the rank is on now.", MetricType::Gauge,
     [](const RankRow& r) { return static_cast<double>(r.node); }},
    {"holdfast_rank_incarnation", "Number of the rank's incarnation.", MetricType::Gauge,
     [](const RankRow& r) { return static_cast<double>(r.incarnation); }},
    {"holdfast_rank_restarts_total", "Times the rank was started again.", MetricType::Counter,
     [](const RankRow& r) { return static_cast<double>(r.restarts); }},
    {"holdfast_rank_unprotected", "1 when the rank's death would end the job although the protocol recovers ranks.", MetricType::Gauge,
     [](const RankRow& r) { return r.unprotected ? 1.0 : 0.0; }},
    {"holdfast_rank_waiting_seconds", "How long the rank has been waiting for another; 0 when it is not, or for less than a millisecond.",
     MetricType::Gauge, [](const RankRow& r) { return r.waits_s; }},
    {"holdfast_rank_mpi_calls_total", "MPI calls that the rank's incarnation has begun; from 0 again when it is started again.",
     MetricType::Counter, [](const RankRow& r) { return static_cast<double>(r.call); }},
    {"holdfast_rank_messages_sent_total", "Messages sent.", MetricType::Counter, total<&Counters::messages_sent>},
    {"holdfast_rank_sent_bytes_total", "Bytes of messages sent.", MetricType::Counter, total<&Counters::bytes_sent>},
    {"holdfast_rank_messages_received_total", "Messages received.", MetricType::Counter, total<&Counters::messages_received>},
    {"holdfast_rank_received_bytes_total", "Bytes of messages received.", MetricType::Counter, total<&Counters::bytes_received>},
    {"holdfast_rank_messages_logged_total", "Messages written to the sender's log.", MetricType::Counter,
     total<&Counters::messages_logged>},
    {"holdfast_rank_logged_bytes_total", "Bytes of messages written to the sender's log.", MetricType::Counter,
     total<&Counters::bytes_logged>},
    {"holdfast_rank_unprotected_bytes_total", "Bytes sent without a log, although the protocol logs.", MetricType::Counter,
     total<&Counters::bytes_unprotected>},
    {"holdfast_rank_determinants_total", "Outcomes of non-deterministic events recorded.", MetricType::Counter,
     total<&Counters::determinants>},
    {"holdfast_rank_messages_replayed_total", "Messages received out of logs.", MetricType::Counter, total<&Counters::messages_replayed>},
    {"holdfast_rank_sends_suppressed_total", "Sends of a replay that were in the log already.", MetricType::Counter,
     total<&Counters::sends_suppressed>},
    {"holdfast_rank_dependency_frames_total", "Frames before messages that tell what these depend on (optimist).", MetricType::Counter,
     total<&Counters::dependency_frames>},
    {"holdfast_rank_dependency_bytes_total", "Bytes of these, without headers.", MetricType::Counter, total<&Counters::dependency_bytes>},
    {"holdfast_rank_log_memory_bytes", "Memory that the rank's logs take.", MetricType::Gauge,
     [](const RankRow& r) { return static_cast<double>(r.log_memory_bytes); }},
    {"holdfast_rank_log_disk_bytes", "Disk that the rank's logs take.", MetricType::Gauge,
     [](const RankRow& r) { return static_cast<double>(r.log_disk_bytes); }},
};

void put_job(Text& text, const JobWatch& watch, const JobFacts& facts) {
  text.begin("holdfast_job_info", "What the job is.", MetricType::Gauge);
  text.add({{"version", HOLDFAST_VERSION}, {"protocol", facts.protocol}, {"log_level", facts.log_level}}, 1);
  text.begin("holdfast_job_start_time_seconds", "When the job was started, in seconds since 1970.", MetricType::Gauge);
  text.add({}, facts.started_s);
  text.begin("holdfast_ranks", "Ranks of the job that are in this state.", MetricType::Gauge);
  const auto states = watch.states();
  for (int i = 0; i < watched_state_count; ++i) {
    text.add({{"state", std::string(name_of(static_cast<WatchedState>(i)))}}, states[static_cast<std::size_t>(i)]);
  }
  text.begin("holdfast_node_up", "1 while the node lives, 0 once it is lost.", MetricType::Gauge);
  for (std::size_t node = 0; node < facts.node_lives.size(); ++node) {
    text.add({{"node", fmt::to_string(node)}, {"spare", facts.node_roles[node] == NodeRole::spare ? "true" : "false"},
              {"event_logger", facts.node_roles[node] == NodeRole::event_logger ? "true" : "false"}},
             facts.node_lives[node] ? 1 : 0);
  }
}

}  // namespace

std::string metrics_text(const JobWatch& watch, const JobFacts& facts) {
  Text text;
  put_job(text, watch, facts);
  std::vector<RankRow> rows;
  for (int rank = 0; rank < watch.rank_count(); ++rank) rows.push_back(watch.row(rank));
  for (const RankMetric& metric : rank_metrics) {
    text.begin(metric.name, metric.help, metric.type);
    for (const RankRow& row : rows) text.add({{"rank", fmt::to_string(row.rank)}}, metric.value(row));
  }
  return text.take();
}

}  // namespace hf::daemon
