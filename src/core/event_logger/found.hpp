// What agents have of the events of a rank that is taken over, and which of it counts (docs/node-loss.md). Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace hf::core::event_logger {

struct Found {
  bool known = false;  // some agent has heard of the rank
  Term term{};         // of the hosting that wrote it
  Generation generation{};  // in which whoever has it was the holder; 0: it was not
  std::uint64_t promised = 0;
  TestClock last_failed{};
  std::vector<std::byte> bytes;
  bool whole = false;  // as much as was promised where it was found
};

// Under optimist, before take(): of the stream of `found.term` only so much is still part of the rank's (vprotocol::Cuts::kept).
void keep(Found& found, std::uint64_t kept);

// `best`: of all agents asked before; its `promised` and `last_failed` are the highest of all.
//
// The newest hosting's stream counts, of these the longest. But one that does not reach as far as that hosting had promised when it began
// is the beginning of a copy: nothing behind the promise was stable there, so an older hosting's stream that reaches so far is the same.
void take(Found& best, Found found);

// Nothing that was told to be stable is missing in it, for a hosting under the term `next`. `whole_from`: 0 when whoever may have had
// events was asked. Otherwise one of them is lost, and what was stable there is also where the hosting before had its holder in this
// generation or a later one, and nowhere else.
bool suffices(const Found& best, Term next, Generation whole_from);

}  // namespace hf::core::event_logger
