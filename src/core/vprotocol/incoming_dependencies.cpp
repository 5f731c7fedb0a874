#include "core/vprotocol/incoming_dependencies.hpp"

#include <algorithm>

namespace hf::core::vprotocol {

void IncomingDependencies::on_dependencies(std::uint64_t next, Incarnation sender, std::span<const Dependency> list) {
  if (first_ > noted_.size() / 2) {
    noted_.erase(noted_.begin(), noted_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  for (const Dependency& d : list) noted_.push_back({next, sender, d});
}

std::span<const Dependency> IncomingDependencies::merge_up_to(std::uint64_t n) {
  merged_.clear();
  for (; has_for(n); ++first_) merged_.push_back(noted_[first_].dependency);
  if (first_ == noted_.size()) clear();
  return merged_;
}

std::optional<IncomingDependencies::Lost> IncomingDependencies::first_lost(const CutTable& cuts) const {
  std::optional<Lost> out;
  for (const Noted& noted : std::span(noted_).subspan(first_)) {
    if (cuts.verdict(noted.dependency) != Cuts::Verdict::lost) continue;
    if (!out) out = {noted.before, noted.sender};
    out->sender = std::max(out->sender, noted.sender);
  }
  return out;
}

void IncomingDependencies::forget_from(std::uint64_t n) {
  while (!empty() && noted_.back().before >= n) noted_.pop_back();
}

}  // namespace hf::core::vprotocol
