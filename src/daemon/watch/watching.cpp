#include "daemon/watch/watching.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/watch/watch_answer.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t metrics_period_ms = 1000;
constexpr std::int64_t watched_periods = 4;  // a client that has not asked for so many is gone

JobFacts facts_of(const Job& job) {
  JobFacts facts{job.protocol_name(), job.log_level_name()};
  facts.node_lives.assign(static_cast<std::size_t>(job.agent_count()), true);
  for (int node = 0; node < job.agent_count(); ++node) {
    using enum NodeRole;
    facts.node_roles.push_back(job.is_event_logger(node) ? event_logger : node >= job.node_count ? spare : ranks);
  }
  return facts;
}

}  // namespace

Watching::Watching(os::EventLoop& loop, const Job& job, std::function<void()> ask)
    : loop_(loop), job_(job), ask_(std::move(ask)), watch_(job.node_of_rank), facts_(facts_of(job)) {
  facts_.started_s = static_cast<double>(os::real_time_ns()) / 1e9;
}

Result<std::string> Watching::serve_metrics(const MetricsAddress& address) {
  metrics_.emplace(loop_, [this] { return metrics_text(watch_, facts_); });
  return metrics_->open(address);
}

void Watching::start() {
  started_ = true;
  facts_.started_s = static_cast<double>(job_.started_ns) / 1e9;  // by the first head
  tick();
}

void Watching::stop() {
  started_ = false;
  loop_.cancel(timer_);
}

// 0: nobody watches.
std::int64_t Watching::period_ms() const {
  const std::int64_t clients = os::now() < watched_until_ ? client_period_ms_ : 0;
  if (!metrics_) return clients;
  return clients == 0 ? metrics_period_ms : std::min(metrics_period_ms, clients);
}

void Watching::be_watched(std::int64_t wanted_ms) {
  const std::int64_t before = period_ms();
  if (before == 0) watch_.begin();
  const Instant now = os::now();
  client_period_ms_ = now < watched_until_ ? std::min(client_period_ms_, wanted_ms) : wanted_ms;
  watched_until_ = std::max(watched_until_, os::later(now, watched_periods * wanted_ms * os::millisecond_ns));
  if (before != 0 && before <= wanted_ms) return;
  loop_.cancel(timer_);
  tick();
}

Json Watching::answer(const Json& request, Json about) {
  Result<WatchRequest> wanted = read_watch_request(request);
  if (!wanted) return error_line(wanted.error().text);
  be_watched(wanted->period_ms);
  Json out = answer_watch(watch_, *wanted);
  out.update(about);
  out["protocol"] = facts_.protocol;
  out["log_level"] = facts_.log_level;
  out["time_s"] = static_cast<double>(os::real_time_ns()) / 1e9 - facts_.started_s;
  out["nodes"] = job_.node_count;
  out["spare_nodes"] = job_.spare_count;
  out["event_loggers"] = job_.event_logger_count;
  out["lost_nodes"] = Json::array();
  for (std::size_t node = 0; node < facts_.node_lives.size(); ++node) {
    if (!facts_.node_lives[node]) out["lost_nodes"].push_back(node);
  }
  return out;
}

void Watching::tick() {
  timer_ = 0;
  const std::int64_t period = started_ ? period_ms() : 0;
  if (period == 0) return;
  ask_();
  timer_ = loop_.at(os::later(os::now(), period * os::millisecond_ns), [this] { tick(); });
}

}  // namespace hf::daemon
