#include "daemon/watch/watching.hpp"

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t metrics_period_ms = 1000;

JobFacts facts_of(const Job& job) {
  JobFacts facts{job.protocol == wire::Protocol::none ? "none" : "pessimist", job.log_level == wire::LogLevel::node ? "node" : "process"};
  facts.node_lives.assign(static_cast<std::size_t>(job.agent_count()), true);
  for (int node = 0; node < job.agent_count(); ++node) facts.node_spare.push_back(node >= job.node_count);
  return facts;
}

}  // namespace

Watching::Watching(os::EventLoop& loop, const Job& job, std::function<void()> ask)
    : loop_(loop), ask_(std::move(ask)), watch_(job.node_of_rank), facts_(facts_of(job)) {
  facts_.started_s = static_cast<double>(os::real_time_ns()) / 1e9;
}

Result<std::string> Watching::serve_metrics(const MetricsAddress& address) {
  metrics_.emplace(loop_, [this] { return metrics_text(watch_, facts_); });
  return metrics_->open(address);
}

void Watching::start() {
  started_ = true;
  tick();
}

void Watching::stop() {
  started_ = false;
  loop_.cancel(timer_);
}

std::int64_t Watching::period_ms() const { return metrics_ ? metrics_period_ms : 0; }

void Watching::tick() {
  timer_ = 0;
  const std::int64_t period = started_ ? period_ms() : 0;
  if (period == 0) return;
  ask_();
  timer_ = loop_.at(os::later(os::now(), period * os::millisecond_ns), [this] { tick(); });
}

}  // namespace hf::daemon
