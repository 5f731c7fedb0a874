#include "core/vprotocol/effects.hpp"

namespace hf::core::vprotocol {

bool Effects::offer(Token token, const DependencyVector& needs) {
#ifdef HOLDFAST_MUTATE_EFFECT_AT_ONCE
  return true;
#endif
  if (held_.empty() && needs.empty()) return true;
  held_.push_back({token, needs.entries()});
  return false;
}

bool Effects::poll_released(Token& token, const CutTable& cuts, const Stable& stable) {
  if (held_.empty()) return false;
  auto& needs = held_.front().needs;
  std::erase_if(needs, [&](const Dependency& d) { return stable.covers(cuts.renewed(d)); });
  if (!needs.empty()) return false;
  token = held_.front().token;
  held_.pop_front();
  return true;
}

}  // namespace hf::core::vprotocol
