#include "daemon/kill_plan.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "os/clock.hpp"

namespace hf::daemon {

using Kind = Injection::Kind;

namespace {

bool has_time(const Injection& injection) {
  const Kind kind = injection.kind;
  return kind == Kind::at_time || kind == Kind::node || kind == Kind::pause || kind == Kind::unshared || kind == Kind::disk || kind == Kind::partition || kind == Kind::head;
}

const char* why_not(Kind kind) {
  if (kind == Kind::partition) return "another one had not healed";
  if (kind == Kind::disk) return "the node was not running then, or keeps no determinants on disk (--log-level)";
  return kind == Kind::at_time ? "the rank was not running then" : "the node was not running then";
}

}  // namespace

void KillPlan::start(Instant zero) {
  zero_ = zero;
  begin(zero, Instant(INT64_MIN), 0);
}

void KillPlan::resume(Instant zero, Instant now, std::uint32_t head) {
  zero_ = zero;
  begin(now, now, head);
}

// Another head takes other random numbers: it would be killed at the same time again.
void KillPlan::begin(Instant random_zero, Instant past, std::uint32_t head) {
  random_zero_ = random_zero;
  for (const Injection& injection : injections_) {
    Injection random = injection;
    random.seed += head;
    if (injection.kind == Injection::Kind::random || injection.kind == Injection::Kind::node_random) {
      randoms_.push_back({RandomKills(random), injection.kind == Injection::Kind::node_random});
      arm(randoms_.back());
    }
    if (injection.kind == Injection::Kind::head_random) {
      timers_.push_back(loop_.at(os::later(random_zero, RandomKills(random).next_at_ns()), [this] { handlers_.kill_head(); }));
    }
    if (!has_time(injection)) continue;
    const Instant at = os::later(zero_, injection.at_ns);
    if (at < past) {
      done_.push_back(&injection);
      continue;
    }
    timers_.push_back(loop_.at(at, [this, &injection] {
      if (!stopped_ && carry_out(injection)) done_.push_back(&injection);
    }));
  }
}

bool KillPlan::carry_out(const Injection& injection) {
  if (injection.kind == Kind::head) handlers_.kill_head();
  if (injection.kind == Kind::node) return handlers_.kill_node(injection.node);
  if (injection.kind == Kind::pause) return handlers_.pause_node(injection.node, injection.for_ns);
  if (injection.kind == Kind::unshared) return handlers_.hold_events(injection.node, injection.for_ns);
  if (injection.kind == Kind::disk) return handlers_.disk_fault(injection.node, injection.for_ns);
  if (injection.kind == Kind::partition) return handlers_.partition(injection);
  if (!running_[static_cast<std::size_t>(injection.rank)]) return false;
  handlers_.kill(injection.rank);
  return true;
}

void KillPlan::arm(Random& random) {
  std::int64_t next = random.kills.next_at_ns();
  if (next < 0) return;
  random.timer = loop_.at(os::later(random_zero_, next), [this, &random] {
    random.timer = 0;
    if (!stopped_) strike(random);
  });
}

void KillPlan::strike(Random& random) {
  std::vector<int> targets;
  if (random.of_nodes) targets = handlers_.nodes();
  for (std::size_t rank = 0; rank < running_.size() && !random.of_nodes; ++rank) {
    if (running_[rank]) targets.push_back(static_cast<int>(rank));
  }
  if (targets.empty()) {
    random.kills.skip();
  } else if (int target = targets[random.kills.choose(targets.size())]; random.of_nodes) {
    handlers_.kill_node(target);
  } else {
    handlers_.kill(target);
  }
  arm(random);
}

void KillPlan::pass(const char* point) {
  const std::string here = fmt::format("{}:{}", point, ++passes_[point]);
  for (const Injection& injection : injections_) {
    if (injection.kind == Kind::head_point && injection.point == here) handlers_.kill_head();
  }
}

void KillPlan::stop() {
  stopped_ = true;
  for (auto& timer : timers_) loop_.cancel(timer);
  for (Random& random : randoms_) loop_.cancel(random.timer);
}

// Empty: it was, or nobody knows. Ranks kill themselves at calls and points, in their first incarnation.
std::string KillPlan::why_not_carried_out(const Injection& injection, const Timeline& timeline, bool first_head) const {
  if (has_time(injection)) {
    if (std::ranges::find(done_, &injection) != done_.end()) return {};
    if (injection.kind == Kind::head) return "the job ended before";
    return fmt::format("{} (times count from the moment when all ranks have returned from MPI_Init)", why_not(injection.kind));
  }
  if (injection.kind == Kind::head_point) return first_head ? "the head did not pass that point so often" : "";
  if (injection.kind != Kind::at_call && injection.kind != Kind::at_point) return {};
  const RankRecord& rank = timeline.ranks()[static_cast<std::size_t>(injection.rank)];
  const bool known = !rank.incarnations.empty() && rank.incarnations[0].number == 0;
  if (known ? rank.incarnations[0].end_signal == SIGKILL : !first_head) return {};
  if (injection.kind == Kind::at_call) return "its first incarnation has not made so many MPI calls";
  return "its first incarnation did not pass that point so often";
}

std::vector<std::string> KillPlan::not_carried_out(const Timeline& timeline, bool first_head) const {
  std::vector<std::string> out;
  for (const Injection& injection : injections_) {
    const std::string why = why_not_carried_out(injection, timeline, first_head);
    if (!why.empty()) out.push_back(fmt::format("{} was not carried out: {}", words_of(injection), why));
  }
  return out;
}

}  // namespace hf::daemon
