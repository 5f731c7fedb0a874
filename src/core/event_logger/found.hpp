// What agents have of the events of a rank that is taken over, and which of it counts (docs/node-loss.md). Pure.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "core/event_logger/extent.hpp"

namespace hf::core::event_logger {

struct Found {
  bool known = false;  // some agent has heard of the rank
  Term term{};         // of the hosting that wrote it
  Generation generation{};  // in which whoever has it was the holder; 0: it was not
  Extent promised;
  TestClock last_failed{};
  std::vector<std::byte> bytes;
  bool whole = false;  // as much as was promised where it was found
  Extent begun;        // what the hostings whose copies do not count had found
  std::set<Generation> as_well;  // in which others were found whole, of the same hosting: there is nothing in them that is not here
  Extent extent() const { return {bytes.size(), last_failed}; }
};

// Under which terms, of the hostings so far, events were told to be stable (places.hpp), and who has all of them.
struct Told {
  Term first{}, next{};     // first <= term < next: a later hosting told nothing that these had not. Equal: nothing was told
  // One that may have had events of these hostings is lost. What was stable is then where their agent's last holders had it, named in these
  // generations, and where a later hosting's copy is whole.
  bool place_lost = false;
  std::set<Generation> present{};
};

// Under optimist, before take(): of the stream of `found.term` only so much is still part of the rank's (vprotocol::Cuts::kept).
void keep(Found& found, std::uint64_t kept);

// `best`: of all agents asked before; its `promised` is the highest of all.
//
// The newest hosting's stream counts, of these the longest. But one that does not reach as far as that hosting had promised when it began
// is the beginning of a copy: an older hosting's stream that reaches so far is the same. From the term `next` on (Told) it does not count
// at all: what it was copied from is where it was, unless that is lost.
void take(Found& best, Found found, Term next);

// Nothing that was told to be stable is missing in it.
bool suffices(const Found& best, const Told& told);

}  // namespace hf::core::event_logger
