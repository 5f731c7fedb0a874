#include "sim/job/differences.hpp"

#include <algorithm>

namespace hf::sim::job {
namespace {

constexpr std::size_t compared_singly = 64;  // beyond that a payload that is not at hand hides those beside it

}  // namespace

void Differences::on_arrived(const Frame& message, Term term) {
  has_large_ |= message.large();
  const Taken now{term, message.tag, message.large(), message.synchronous, !message.large(), message.payload.value};
  const bool is_new = taken_.try_emplace(message.sequence, now).second;
  if (!is_new && !message.large()) on_again(message, term, true);
}

void Differences::on_payload(Sequence number, std::uint64_t value) {
  auto at = taken_.find(number);
  if (at == taken_.end()) return;
  at->second.has_value = true;
  at->second.value = value;
}

void Differences::on_large_again(const Frame& message, Term term, bool has_payload) {
  if (taken_.contains(message.sequence)) on_again(message, term, has_payload);
}

void Differences::on_again(const Frame& message, Term term, bool has_payload) {
  const Taken& before = taken_.at(message.sequence);
  if (before.term >= term || term < again_under_) return;
  if (term > again_under_) {
    again_under_ = term;
    again_.clear();
    other_.clear();
  }
  if (!again_.insert(message.sequence).second) return;
  const bool has_both = has_payload && before.has_value;
  const bool same = before.tag == message.tag && before.large == message.large() && before.synchronous == message.synchronous;
  if (!same) other_[message.sequence] = true;
  else if (has_both && before.value != message.payload.value) other_[message.sequence] = false;
  settle();
}

void Differences::settle() {
  const auto expected = std::ranges::count_if(taken_, [this](const auto& one) { return one.second.term < again_under_; });
  if (static_cast<std::size_t>(expected) != again_.size() || other_.empty()) return;
  const bool hidden = taken_.size() > compared_singly && has_large_;
  due_ |= !hidden;
}

bool Differences::has(Sequence first, Sequence last, bool envelope) const {
  return std::ranges::any_of(other_, [=](const auto& one) { return one.first >= first && one.first <= last && one.second == envelope; });
}

}  // namespace hf::sim::job
