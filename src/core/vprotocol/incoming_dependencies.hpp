// What the messages of one peer depend on that the receiver has taken and not matched yet (docs/optimist.md, What depends on what). Pure.
//
// Messages are numbered here in the order in which the receiver takes them from that peer, over all contexts and all of the peer's
// incarnations: duplicates do not count.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/dependencies.hpp"

namespace hf::core::vprotocol {

class IncomingDependencies {
 public:
  // Message `next`, the next one to be taken, depends on these, and so does all that this incarnation of the peer sends later.
  void on_dependencies(std::uint64_t next, Incarnation sender, std::span<const Dependency> list);
  // Whether anything must be merged before the program may see message n.
  bool has_for(std::uint64_t n) const { return first_ < noted_.size() && noted_[first_].before <= n; }
  // What n and all messages before it depend on; merged from now on. Valid until the next call.
  std::span<const Dependency> merge_up_to(std::uint64_t n);
  struct Lost {
    std::uint64_t first;  // message
    Incarnation sender;   // the newest that has sent one
    bool operator==(const Lost&) const = default;
  };
  // The first message that depends on something lost. None from there on has been matched, since what it depends on would not be here any more.
  // Those of newer incarnations than `sender` need not be orphans.
  std::optional<Lost> first_lost(const CutTable& cuts) const;
  // Message n and all later ones were taken away.
  void forget_from(std::uint64_t n);
  void clear() { noted_.clear(), first_ = 0; }
  bool empty() const { return first_ == noted_.size(); }

 private:
  struct Noted {
    std::uint64_t before;
    Incarnation sender;
    Dependency dependency;
  };
  // From first_ on; `before` never falls. At most one frame of entries for a message: bounded as unexpected messages are. No memory where none
  // comes, as under the other protocols.
  std::vector<Noted> noted_;
  std::size_t first_ = 0;
  std::vector<Dependency> merged_;
};

}  // namespace hf::core::vprotocol
