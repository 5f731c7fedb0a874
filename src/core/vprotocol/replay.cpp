#include "core/vprotocol/replay.hpp"

#include <algorithm>
#include <bit>

namespace hf::core::vprotocol {

bool Replay::load(const EventHead& head, std::span<const std::int32_t> indices) {
  if (is_of_libc(head.kind)) return true;  // the recorder's, which has them from the agent
  if (head.kind == EventKind::dependency) return true;
  switch (head.kind) {
    case EventKind::match:
      if (!matches_.emplace(RequestNumber{head.key}, Rank{static_cast<std::int32_t>(head.count)}).second) return false;
      break;
    case EventKind::delivery: {
      TestClock clock{head.key};
      if (clock <= last_recorded_) return false;
      last_recorded_ = clock;
      last_clock_ = std::max(last_clock_, clock);
      if (indices.empty()) return true;  // nothing to wait for: a test up to last_clock_ without a delivery finds nothing
      deliveries_.push_back({clock, {indices.begin(), indices.end()}});
      break;
    }
    case EventKind::time:
      times_.push_back(std::bit_cast<double>(head.key));
      break;
    case EventKind::cancel:
      if (!cancels_.emplace(RequestNumber{head.key}, head.count != 0).second) return false;
      break;
    default:
      return false;
  }
  ++pending_;
  return true;
}

void Replay::load_last_failed(TestClock clock) { last_clock_ = std::max(last_clock_, clock); }

Replay::Receive Replay::on_post(RequestNumber number) {
  if (auto cancel = cancels_.find(number); cancel != cancels_.end() && cancel->second) return {Receive::cancelled, any_rank};
  auto match = matches_.find(number);
  if (match == matches_.end()) return {};
  Receive out{Receive::forced, match->second};
  matches_.erase(match);
  consume();
  return out;
}

Replay::Test Replay::on_test(TestClock clock) {
  clock_ = clock;
  if (deliveries_.empty()) return {clock <= last_clock_ ? Test::nothing : Test::free, {}};
  if (clock < deliveries_.front().clock) return {Test::nothing, {}};
  if (clock > deliveries_.front().clock) return {Test::diverged, {}};
  current_ = std::move(deliveries_.front().indices);
#ifdef HOLDFAST_MUTATE_REPLAY_OUT_OF_ORDER
  std::ranges::sort(current_);
#endif
  deliveries_.pop_front();
  consume();
  return {Test::exactly, current_};
}

bool Replay::take_time(double& value) {
  if (times_.empty()) return false;
  value = times_.front();
  times_.pop_front();
  consume();
  return true;
}

bool Replay::take_cancel(RequestNumber number, bool& outcome) {
  auto cancel = cancels_.find(number);
  if (cancel == cancels_.end()) return false;
  outcome = cancel->second;
  cancels_.erase(cancel);
  consume();
  return true;
}

}  // namespace hf::core::vprotocol
