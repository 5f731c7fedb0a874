#include "core/vprotocol/replay.hpp"

#include <algorithm>
#include <bit>

namespace hf::core::vprotocol {

bool Replay::load(const EventHead& head, std::span<const std::int32_t> indices) {
  if (is_of_libc(head.kind)) return true;  // the recorder's, which has them from the agent
  if (head.kind == EventKind::dependency) return true;
  switch (head.kind) {
    case EventKind::match:
      matches_.push_back({RequestNumber{head.key}, Rank{static_cast<std::int32_t>(head.count)}});
      break;
    case EventKind::delivery: {
      TestClock clock{head.key};
      if (clock <= last_recorded_) return false;
      last_recorded_ = clock;
      last_clock_ = std::max(last_clock_, clock);
      if (indices.empty()) return true;  // nothing to wait for: a test up to last_clock_ without a delivery finds nothing
      deliveries_.push_back({clock, indices_.size(), indices.size()});
      indices_.insert(indices_.end(), indices.begin(), indices.end());
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

bool Replay::end_loading() {
  if (!std::ranges::is_sorted(matches_, {}, &Match::number)) std::ranges::sort(matches_, {}, &Match::number);
  return std::ranges::adjacent_find(matches_, {}, &Match::number) == matches_.end();
}

void Replay::load_last_failed(TestClock clock) { last_clock_ = std::max(last_clock_, clock); }

Replay::Receive Replay::on_post(RequestNumber number) {
  if (auto cancel = cancels_.empty() ? cancels_.end() : cancels_.find(number); cancel != cancels_.end() && cancel->second) return {Receive::cancelled, any_rank};
  while (next_match_ < matches_.size() && matches_[next_match_].number < number) ++next_match_;
  if (next_match_ == matches_.size() || matches_[next_match_].number != number) return {};
  consume();
  return {Receive::forced, matches_[next_match_++].source};
}

Replay::Test Replay::on_test(TestClock clock) {
  clock_ = clock;
  if (next_delivery_ == deliveries_.size()) return {clock <= last_clock_ ? Test::nothing : Test::free, {}};
  const Delivery& next = deliveries_[next_delivery_];
  if (clock < next.clock) return {Test::nothing, {}};
  if (clock > next.clock) return {Test::diverged, {}};
  ++next_delivery_;
  consume();
  const std::span<std::int32_t> which(indices_.data() + next.first, next.count);
#ifdef HOLDFAST_MUTATE_REPLAY_OUT_OF_ORDER
  std::ranges::sort(which);
#endif
  return {Test::exactly, which};
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
