#include "daemon/adoption.hpp"

#include <algorithm>

namespace hf::daemon {

AdoptedRank adopted_rank(int rank, std::uint32_t incarnation, std::uint32_t term, const core::event_logger::Told& told) {
  AdoptedRank out{.rank = rank,
                  .incarnation = incarnation,
                  .term = term,
                  .told_first = told.first.value,
                  .told_next = told.next.value,
                  .place_lost = told.place_lost};
  for (Generation generation : told.present) out.present[out.present_count++] = generation.value;
  return out;
}

core::event_logger::Told told_of(const AdoptedRank& rank) {
  core::event_logger::Told out{Term{rank.told_first}, Term{rank.told_next}, rank.place_lost != 0, {}};
  for (std::uint32_t i = 0; i < rank.present_count; ++i) out.present.insert(Generation{rank.present[i]});
  return out;
}

void encode(const Adoption& adoption, std::vector<std::byte>& bytes) {
  Adopt head = adoption.head;
  head.rank_count = static_cast<std::int32_t>(adoption.ranks.size());
  head.place_count = static_cast<std::int32_t>(adoption.places.size());
  ByteWriter out(bytes);
  out.put(head);
  for (const AdoptedRank& rank : adoption.ranks) out.put(rank);
  for (const AgentAddress& place : adoption.places) out.put(place);
}

bool decode(Bytes bytes, int rank_count, int agent_count, Adoption& adoption) {
  ByteReader in(bytes);
  adoption.head = in.get<Adopt>();
  const Adopt& head = adoption.head;
  const bool counts = head.rank_count >= 1 && head.rank_count <= rank_count && head.place_count >= 0 && head.place_count <= agent_count;
  if (!in.ok() || !counts) return false;
  for (int i = 0; i < head.rank_count; ++i) {
    const auto rank = in.get<AdoptedRank>();
    const bool again = std::ranges::find(adoption.ranks, rank.rank, &AdoptedRank::rank) != adoption.ranks.end();
    if (rank.rank < 0 || rank.rank >= rank_count || rank.incarnation == 0 || again || rank.present_count > rank.present.size()) return false;
    adoption.ranks.push_back(rank);
  }
  for (int i = 0; i < head.place_count; ++i) {
    const auto place = in.get<AgentAddress>();
    if (place.node < 0 || place.node >= agent_count) return false;
    adoption.places.push_back(place);
  }
  return in.ok() && in.left() == 0;
}

}  // namespace hf::daemon
