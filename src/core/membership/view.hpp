// What one agent knows of the head's decisions: a version, all deaths up to it, and the tree that follows. Pure.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "core/tree/shape.hpp"
#include "wire/tree.hpp"

namespace hf::core::membership {

class View {
 public:
  View(int agents, int fan_out) : shape_(agents, fan_out) {}
  ViewVersion version() const { return version_; }
  const tree::Shape& shape() const { return shape_; }
  bool is_alive(NodeId node) const { return shape_.is_alive(node); }
  // Deaths in the order of their versions, all after version().
  void apply(ViewVersion to, std::span<const wire::DeathEntry> deaths) {
    for (const wire::DeathEntry& death : deaths) {
      shape_.on_death(NodeId(death.node));
      deaths_.push_back(death);
    }
    version_ = to;
  }
  std::span<const wire::DeathEntry> deaths_after(ViewVersion from) const {
    auto first = std::upper_bound(deaths_.begin(), deaths_.end(), from.value,
                                  [](std::uint32_t version, const wire::DeathEntry& d) { return version < d.version; });
    return {first, deaths_.end()};
  }

 private:
  ViewVersion version_{};
  std::vector<wire::DeathEntry> deaths_;  // each agent at most once
  tree::Shape shape_;
};

}  // namespace hf::core::membership
