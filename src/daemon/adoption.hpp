// What the head asks of an agent that takes over ranks of a lost one: ControlKind::adopt. Pure.
#pragma once
#include <vector>

#include "base/bytes.hpp"
#include "daemon/control_messages.hpp"

namespace hf::daemon {

struct Adoption {
  Adopt head;
  std::vector<AdoptedRank> ranks;
  std::vector<AgentAddress> places;  // agents that may have their events
};

AdoptedRank adopted_rank(int rank, std::uint32_t incarnation, std::uint32_t term, const core::event_logger::Told& told);
core::event_logger::Told told_of(const AdoptedRank& rank);

void encode(const Adoption& adoption, std::vector<std::byte>& out);  // the counts are those of the lists
// False: not of a job with so many ranks and agents, each rank once.
bool decode(Bytes in, int rank_count, int agent_count, Adoption& adoption);

}  // namespace hf::daemon
