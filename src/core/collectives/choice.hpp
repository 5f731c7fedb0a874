// Which algorithm a collective takes: a pure function of what all ranks of a call know, so that they agree and a later
// incarnation chooses the same (design rule 1). The table is built in (measured on the machine that docs/bench names) and may be
// replaced, a collective at a time, by rules that the user gives for a whole job.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/collective_rule.hpp"

namespace hf::core::collectives {

using wire::Algorithm;
using wire::Collective;
using wire::Logging;
using Rule = wire::CollectiveRule;

std::string_view name_of(Collective collective);
std::string_view name_of(Algorithm algorithm);
std::optional<Collective> collective_named(std::string_view name);
std::optional<Algorithm> algorithm_named(std::string_view name);

// Those that a collective has. The first one suits every call; another may be refused by a call that it does not suit (an
// operation that is not commutative, fewer elements than ranks), which then takes the first.
std::span<const Algorithm> algorithms_of(Collective collective);

// Made of values that exist, and an algorithm that the collective has.
bool valid(const Rule& rule);

// An algorithm, and for which other calls it is taken as well: those of the same collective, ranks, nodes and sort of job with so many
// bytes. As made: for none.
struct Choice {
  Algorithm algorithm{};
  std::uint64_t from = 0, below = 0;
  bool holds_for(std::uint64_t bytes) const { return from <= bytes && bytes < below; }
};

class ChoiceTable {
 public:
  ChoiceTable();  // what is built in
  // All rules of the collectives named in these, which are valid, give way to them.
  void replace(std::span<const Rule> rules);
  // All rules for this sort of job, with those for calls that none is for: to be given to a table that may have others built in.
  std::vector<Rule> rules(bool logging) const;
  // Of the rules whose nodes, ranks and bytes are all reached, and which are not for the other sort of job, the one with the most
  // nodes; of these the one with the most ranks; of these the one with the most bytes; of these one for this sort of job before
  // one for any. Without any the first of algorithms_of.
  Choice look_up(Collective collective, bool logging, int nodes, int ranks, std::uint64_t bytes) const;
  Algorithm choose(Collective collective, bool logging, int nodes, int ranks, std::uint64_t bytes) const {
    return look_up(collective, logging, nodes, ranks, bytes).algorithm;
  }

 private:
  std::array<std::vector<Rule>, wire::collective_count> rules_;  // of each, the one to be looked at first in front
};

}  // namespace hf::core::collectives
