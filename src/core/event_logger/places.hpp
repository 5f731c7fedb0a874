// What the head knows of where determinants are: an agent's holders, and the agents that may have those of a rank
// (docs/node-loss.md, Settled). Pure.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "core/event_logger/found.hpp"

namespace hf::core::event_logger {

inline constexpr int copies_max = 8;

// Who holds the events of an agent's ranks. It stays as it was when the agent is lost.
struct Holding {
  struct Copy {
    int holder = -1;          // number of an agent; -1: no other is left
    Generation generation{};  // in which it was named
    bool held = false;        // it has all that was ever told to be stable
  };
  std::vector<Copy> copies;
  Generation generation{};  // rises with every change of a holder

  std::set<int> holders() const;
  bool all_held() const;  // by those that there are
};

// Of one rank. A hosting is settled when all its holders have all that it found when it began, and the head has heard so. Before that its
// agent tells nothing to be stable that the hostings before had not: should it be lost, what was stable is still where the last settled
// one had it, and nothing was where there is none.
class Places {
 public:
  // In memory that outlives a head.
  struct Facts {
    int agent = -1;      // host of the last settled hosting; -1: there is none
    Term first{};        // of that hosting
    Term next{}, begun{};  // of the first hosting after it and of the present one, unless that is it
    bool settled = false;  // the present one is it
    bool place_lost = false;
  };

  Places() = default;  // of the first hosting, which begins with nothing
  Places(const Facts& facts, std::vector<int> settled, std::vector<int> begun)
      : facts_(facts), settled_(std::move(settled)), begun_(std::move(begun)) {}
  const Facts& facts() const { return facts_; }
  bool is_settled() const { return facts_.settled; }
  int settled_agent() const { return facts_.agent; }
  const std::vector<int>& settled() const { return settled_; }
  const std::vector<int>& begun() const { return begun_; }  // of hostings since, whose copies may have only begun
  std::vector<int> all() const;
  // What suffices for the hosting that has just begun: after move(). `settled`: of settled_agent(), if there is one.
  Told told(const Holding* settled) const;

  void move(Term term);  // another hosting begins under this term
  void add(int holder);  // of the present hosting
  // Some copy of the present hosting has no holder any more, and these are left. Of a settled one more is stable from now on than others have.
  void only(const std::set<int>& holders);
  void lose(int agent);  // it can be asked no more
  // The present hosting, at this agent, is settled, and these are its holders. Returns who need not keep anything any more.
  std::vector<int> settle(int agent, const std::set<int>& holders);

 private:
  Facts facts_;
  std::vector<int> settled_, begun_;
};

}  // namespace hf::core::event_logger
