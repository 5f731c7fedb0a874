// What ranks say that their messages depend on, and the cuts that agents tell: taken whole, or refused; and what is made of any numbers
// in them.
#include "base/check.hpp"
#include "core/vprotocol/optimist.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

namespace vp = core::vprotocol;

constexpr int ranks = 40;

void take_cuts(Bytes input) {
  const auto cuts = vp::Cuts::decode(input);
  if (!cuts) return;
  Octets again;
  cuts->encode(again);
  HF_CHECK(std::ranges::equal(again, input));
  for (std::uint32_t term = 0; term < 40; ++term) HF_CHECK(cuts->verdict(Term(term), 0) != vp::Cuts::Verdict::lost);
}

void take_list(Bytes input) {
  std::vector<vp::Dependency> list;
  if (!vp::decode_dependencies(input, ranks, list)) return HF_CHECK(list.empty());
  Octets again;
  vp::encode_dependencies(again, list);
  HF_CHECK(std::ranges::equal(again, input));
  vp::Pessimist events;
  const vp::StableVector stable;
  vp::Optimist optimist(Rank(3), stable);
  for (std::uint32_t term = 1; term < 4; ++term) optimist.cuts().add(Rank(5), Term(term), 100 * term);
  vp::IncomingDependencies from;
  from.on_dependencies(0, hf::Incarnation{}, list);
  from.first_lost(optimist.cuts());
  optimist.on_seen(from, 0, events);
  optimist.look();
  std::vector<vp::Dependency> out;
  std::uint64_t said = 0;
  optimist.vector().take_changes(said, out);
  HF_CHECK(out.size() <= list.size());
  vp::Optimist next(Rank(3), stable);
  next.begin(Term(1), events.events());
}

}  // namespace

// The first byte says what the rest is.
Octets sample(Random& random) {
  Octets out{static_cast<std::byte>(random() % 2)};
  Octets rest;
  if (out[0] == std::byte{0}) {
    vp::Cuts cuts;
    for (std::uint32_t term = 0; term < random() % 30;) cuts.add(Term(term += 1 + random() % 3), random() % 1000);
    cuts.encode(rest);
  } else {
    std::vector<vp::Dependency> list;
    for (int rank = static_cast<int>(random() % 4); rank < ranks; rank += 1 + static_cast<int>(random() % 8)) {
      list.push_back({Rank(rank), Term(random() % 5), random() % 5000});
    }
    vp::encode_dependencies(rest, list);
  }
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

void take(Bytes input) {
  if (input.empty()) return;
  if (input[0] == std::byte{0}) take_cuts(input.subspan(1));
  else take_list(input.subspan(1));
}

}  // namespace hf::fuzz
