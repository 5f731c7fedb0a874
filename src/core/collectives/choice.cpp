#include "core/collectives/choice.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::collectives {
namespace {

constexpr std::string_view collective_names[wire::collective_count] = {"allgather", "allreduce", "alltoall",       "barrier", "bcast",
                                                                  "gather",    "reduce",    "reduce_scatter", "scan",    "scatter"};
constexpr std::string_view algorithm_names[wire::algorithm_count] = {"binomial", "bruck",    "chain",        "dissemination", "doubling",    "halving",
                                                                "linear",   "pairwise", "rabenseifner", "ring",          "scatter_ring"};

constexpr Algorithm for_allgather[] = {Algorithm::ring, Algorithm::bruck, Algorithm::linear};
constexpr Algorithm for_allreduce[] = {Algorithm::doubling, Algorithm::linear, Algorithm::rabenseifner};
constexpr Algorithm for_alltoall[] = {Algorithm::pairwise, Algorithm::bruck};
constexpr Algorithm for_barrier[] = {Algorithm::dissemination, Algorithm::linear};
constexpr Algorithm for_bcast[] = {Algorithm::binomial, Algorithm::linear, Algorithm::scatter_ring};
constexpr Algorithm for_gather[] = {Algorithm::linear, Algorithm::binomial};
constexpr Algorithm for_reduce[] = {Algorithm::binomial, Algorithm::rabenseifner};
constexpr Algorithm for_reduce_scatter[] = {Algorithm::pairwise, Algorithm::halving};
constexpr Algorithm for_scan[] = {Algorithm::chain, Algorithm::doubling};
constexpr Algorithm for_scatter[] = {Algorithm::linear, Algorithm::binomial};

constexpr std::span<const Algorithm> algorithms[wire::collective_count] = {
    for_allgather, for_allreduce, for_alltoall,       for_barrier, for_bcast,
    for_gather,    for_reduce,    for_reduce_scatter, for_scan,    for_scatter};

constexpr Rule rule(Collective collective, int nodes, int ranks, std::uint64_t bytes, Algorithm algorithm, Logging logging = Logging::any) {
  return {collective, algorithm, logging, 0, nodes, ranks, 0, bytes};
}

// Measured with 2, 4 and 8 ranks; from 16 ranks on what the number of steps and the bytes moved speak for.
constexpr Rule built_in[] = {
    rule(Collective::allgather, 1, 3, 0, Algorithm::linear),
    rule(Collective::allgather, 1, 3, 64 << 10, Algorithm::ring),
    rule(Collective::allgather, 1, 9, 0, Algorithm::bruck),
    rule(Collective::allgather, 1, 9, 64 << 10, Algorithm::ring),
    rule(Collective::allgather, 2, 3, 0, Algorithm::bruck),
    rule(Collective::allgather, 2, 3, 64 << 10, Algorithm::ring),
    rule(Collective::allreduce, 1, 1, 8 << 10, Algorithm::rabenseifner),
    rule(Collective::allreduce, 1, 3, 0, Algorithm::linear),
    rule(Collective::allreduce, 1, 3, 256, Algorithm::doubling),
    rule(Collective::allreduce, 1, 3, 8 << 10, Algorithm::rabenseifner),
    rule(Collective::allreduce, 1, 9, 0, Algorithm::doubling),
    rule(Collective::allreduce, 1, 9, 8 << 10, Algorithm::rabenseifner),
    rule(Collective::allreduce, 2, 1, 0, Algorithm::doubling),
    rule(Collective::allreduce, 2, 1, 512 << 10, Algorithm::rabenseifner),
    rule(Collective::allreduce, 2, 6, 32 << 10, Algorithm::rabenseifner),
    rule(Collective::alltoall, 1, 16, 0, Algorithm::bruck),
    rule(Collective::alltoall, 1, 16, 256, Algorithm::pairwise),
    rule(Collective::alltoall, 2, 3, 0, Algorithm::bruck),
    rule(Collective::alltoall, 2, 3, 4 << 10, Algorithm::pairwise),
    rule(Collective::barrier, 1, 3, 0, Algorithm::linear),
    rule(Collective::barrier, 1, 9, 0, Algorithm::dissemination),
    rule(Collective::barrier, 2, 1, 0, Algorithm::dissemination),
    rule(Collective::bcast, 1, 3, 4 << 10, Algorithm::linear, Logging::off),
    rule(Collective::bcast, 1, 16, 0, Algorithm::binomial),
    rule(Collective::bcast, 1, 16, 64 << 10, Algorithm::scatter_ring),
    rule(Collective::bcast, 2, 1, 0, Algorithm::linear),
    rule(Collective::bcast, 2, 6, 0, Algorithm::binomial),
    rule(Collective::bcast, 2, 16, 64 << 10, Algorithm::scatter_ring),
    rule(Collective::gather, 1, 16, 0, Algorithm::binomial),
    rule(Collective::gather, 1, 16, 4 << 10, Algorithm::linear),
    rule(Collective::reduce, 1, 3, 512 << 10, Algorithm::rabenseifner),
    rule(Collective::reduce, 1, 16, 32 << 10, Algorithm::rabenseifner),
    rule(Collective::reduce, 2, 1, 0, Algorithm::binomial),
    rule(Collective::reduce, 2, 16, 32 << 10, Algorithm::rabenseifner),
    rule(Collective::reduce_scatter, 1, 1, 16 << 10, Algorithm::halving),
    rule(Collective::reduce_scatter, 1, 16, 0, Algorithm::halving),
    rule(Collective::reduce_scatter, 2, 1, 0, Algorithm::pairwise),
    rule(Collective::reduce_scatter, 2, 3, 0, Algorithm::halving),
    rule(Collective::scan, 1, 16, 0, Algorithm::doubling),
    rule(Collective::scan, 1, 16, 64 << 10, Algorithm::chain),
    rule(Collective::scatter, 1, 16, 0, Algorithm::binomial),
    rule(Collective::scatter, 1, 16, 4 << 10, Algorithm::linear),
};

template <class T, std::size_t n>
std::optional<T> named(const std::string_view (&names)[n], std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<T>(found - names);
}

bool is_for(const Rule& rule, bool logging) { return rule.logging != (logging ? Logging::off : Logging::on); }

bool before(const Rule& a, const Rule& b) {
  const bool a_for_any = a.logging == Logging::any, b_for_any = b.logging == Logging::any;
  return std::tie(b.nodes, b.ranks, b.bytes, a_for_any) < std::tie(a.nodes, a.ranks, a.bytes, b_for_any);
}

}  // namespace

std::string_view name_of(Collective collective) { return collective_names[static_cast<int>(collective)]; }
std::string_view name_of(Algorithm algorithm) { return algorithm_names[static_cast<int>(algorithm)]; }
std::optional<Collective> collective_named(std::string_view name) { return named<Collective>(collective_names, name); }
std::optional<Algorithm> algorithm_named(std::string_view name) { return named<Algorithm>(algorithm_names, name); }

std::span<const Algorithm> algorithms_of(Collective collective) { return algorithms[static_cast<int>(collective)]; }

bool valid(const Rule& rule) {
  if (static_cast<int>(rule.collective) >= wire::collective_count || rule.logging > Logging::on) return false;
  if (rule.nodes < 1 || rule.ranks < 1) return false;
  return std::ranges::find(algorithms_of(rule.collective), rule.algorithm) != algorithms_of(rule.collective).end();
}

ChoiceTable::ChoiceTable() { replace(built_in); }

void ChoiceTable::replace(std::span<const Rule> rules) {
  for (const Rule& rule : rules) rules_[static_cast<std::size_t>(rule.collective)].clear();
  for (const Rule& rule : rules) rules_[static_cast<std::size_t>(rule.collective)].push_back(rule);
  for (auto& of_one : rules_) std::ranges::stable_sort(of_one, before);
}

std::vector<Rule> ChoiceTable::rules(bool logging) const {
  std::vector<Rule> all;
  for (int i = 0; i < wire::collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    std::ranges::copy_if(rules_[static_cast<std::size_t>(i)], std::back_inserter(all),
                         [=](const Rule& rule) { return is_for(rule, logging); });
    all.push_back({.collective = collective, .algorithm = algorithms_of(collective)[0]});  // what is taken without any
  }
  return all;
}

// A rule that is passed over for its bytes alone is the one for some larger call.
Choice ChoiceTable::look_up(Collective collective, bool logging, int nodes, int ranks, std::uint64_t bytes) const {
  std::uint64_t below = UINT64_MAX;
  for (const Rule& rule : rules_[static_cast<std::size_t>(collective)]) {
    if (!is_for(rule, logging) || rule.nodes > nodes || rule.ranks > ranks) continue;
    if (rule.bytes <= bytes) return {rule.algorithm, rule.bytes, below};
    below = std::min(below, rule.bytes);
  }
  return {algorithms_of(collective)[0], 0, below};
}

}  // namespace hf::core::collectives
