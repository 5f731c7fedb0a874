// Process: completion tests of requests. As src/engine/replay.cpp (begin_test, end_test).
#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::vprotocol::Replay;

bool Process::Test::ready() {
  Process& p = process_;
  if (over_) return true;
  if (!std::exchange(begun_, true)) {
    Replay::Test plan = p.protocol_.on_test();
    if (plan.kind == Replay::Test::diverged) p.diverged("a test that was not made");
    recorded_ = plan.kind == Replay::Test::exactly;
    over_ = plan.kind == Replay::Test::nothing;
    if (recorded_) found_.assign(plan.which.begin(), plan.which.end());
    else p.after_call();
  }
  if (over_) return true;
  if (!recorded_) return look(), over_;
  over_ = std::ranges::all_of(found_, [this](std::int32_t i) {
    if (static_cast<std::size_t>(i) >= requests_.size()) return false;
    const Request& request = *requests_[static_cast<std::size_t>(i)];
    if (HF_MUTATED(COLLECTIVE_NOT_AWAITED) && request.is_collective) return true;
    return request.complete;
  });
  if (over_) p.after_call();
  return over_;
}

// In which order, and whether all that is complete is seen, is the library's choice.
void Process::Test::look() {
  Random& random = process_.world_.random();
  const bool waits = kind_ == TestKind::wait_any || kind_ == TestKind::wait_some;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i]->complete && (waits || !random.one_in(4))) found_.push_back(static_cast<std::int32_t>(i));
  }
  if (waits && found_.empty()) return;
  for (std::size_t i = found_.size(); i > 1; --i) std::swap(found_[i - 1], found_[random.below(i)]);
  if (!found_.empty() && (kind_ == TestKind::wait_any || kind_ == TestKind::test_any)) found_.resize(1);
  process_.protocol_.on_test_result(found_);
  if (!found_.empty()) process_.persist_events();
  else process_.store_failed();
  over_ = true;
}

// The word of the lazy event.
void Process::store_failed() {
  if (dead_) return;
  log_.last_failed = protocol_.last_failed();
  if (!world_.options().keeps_events()) world_.checker().on_stored(self_, stored_here, {}, 0, {}, log_.last_failed);
}

std::vector<std::int32_t> Process::Test::await_resume() {
  if (!process_.dead_) process_.world_.checker().on_test(process_.life_, found_);
  return std::move(found_);
}

}  // namespace hf::sim::job
