// The head's part of watching a job: asks the agents for samples while somebody watches, and keeps what is known (JobWatch) for those
// who ask. While nobody watches no sample is taken.
#pragma once
#include <functional>
#include <optional>

#include "daemon/clients/client_line.hpp"
#include "daemon/job.hpp"
#include "daemon/watch/job_watch.hpp"
#include "daemon/watch/metrics.hpp"
#include "daemon/watch/metrics_server.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class Watching {
 public:
  // `ask`: sends ask_sample to all agents.
  Watching(os::EventLoop& loop, const Job& job, std::function<void()> ask);

  // Gives the address taken. From start() on the agents are asked all the time.
  Result<std::string> serve_metrics(const MetricsAddress& address);

  void start();  // all agents are ready
  void on_event(int node, const Event& event, Bytes text) { watch_.on_event(node, event, text); }
  void on_sample(int node, Bytes payload) { watch_.on_sample(node, payload); }
  void on_node_lost(int node) { facts_.node_lives[static_cast<std::size_t>(node)] = false; }
  void on_moved(int rank, int node) { watch_.on_moved(rank, node); }
  RankPast past(int rank) const { return watch_.past(rank); }
  void recall(int rank, int node, const RankPast& past) { watch_.recall(rank, node, past); }
  void stop();  // the job ends

  // To a `watch` request of a client, `about` the job among it (docs/clients.md). Who asks watches for some seconds from then on.
  Json answer(const Json& request, Json about);

 private:
  std::int64_t period_ms() const;
  void be_watched(std::int64_t period_ms);
  void tick();

  os::EventLoop& loop_;
  const Job& job_;
  std::function<void()> ask_;
  JobWatch watch_;
  JobFacts facts_;
  std::optional<MetricsServer> metrics_;
  Instant watched_until_{};            // by clients
  std::int64_t client_period_ms_ = 0;  // the shortest that they asked for
  bool started_ = false;
  os::EventLoop::TimerId timer_ = 0;  // 0: nobody watches
};

}  // namespace hf::daemon
