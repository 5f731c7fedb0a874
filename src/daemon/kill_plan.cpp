#include "daemon/kill_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "os/clock.hpp"

namespace hf::daemon {

void KillPlan::start(Instant zero) {
  zero_ = zero;
  for (const Injection& injection : injections_) {
    if (injection.kind == Injection::Kind::random) {
      randoms_.push_back({RandomKills(injection)});
      arm(randoms_.back());
    }
    if (injection.kind != Injection::Kind::at_time) continue;
    timers_.push_back(loop_.at(os::later(zero, injection.at_ns), [this, &injection] {
      if (stopped_ || !running_[static_cast<std::size_t>(injection.rank)]) return;
      done_.push_back(&injection);
      kill_(injection.rank);
    }));
  }
}

void KillPlan::arm(Random& random) {
  std::int64_t next = random.kills.next_at_ns();
  if (next < 0) return;
  random.timer = loop_.at(os::later(zero_, next), [this, &random] {
    random.timer = 0;
    if (!stopped_) strike(random);
  });
}

void KillPlan::strike(Random& random) {
  std::vector<int> targets;
  for (std::size_t rank = 0; rank < running_.size(); ++rank) {
    if (running_[rank]) targets.push_back(static_cast<int>(rank));
  }
  if (targets.empty()) {
    random.kills.skip();
  } else {
    kill_(targets[random.kills.choose(targets.size())]);
  }
  arm(random);
}

void KillPlan::stop() {
  stopped_ = true;
  for (auto& timer : timers_) loop_.cancel(timer);
  for (Random& random : randoms_) loop_.cancel(random.timer);
}

std::vector<std::string> KillPlan::not_carried_out() const {
  std::vector<std::string> out;
  for (const Injection& injection : injections_) {
    if (injection.kind != Injection::Kind::at_time || std::ranges::find(done_, &injection) != done_.end()) continue;
    out.push_back(
        fmt::format("kill:rank={},at={}s was not carried out: the rank was not running then (times count from "
                    "the moment when all ranks have returned from MPI_Init)",
                    injection.rank, static_cast<double>(injection.at_ns) / 1e9));
  }
  return out;
}

}  // namespace hf::daemon
