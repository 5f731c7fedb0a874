// What passes between simulated ranks, and what stands in their logs: as wire::FrameHeader, with the payload inside.
#pragma once
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "wire/frame.hpp"

namespace hf::sim::job {

// What the program sent, opaque to the protocol. `send` is the checker's: the n-th send of the source.
struct Payload {
  std::uint64_t value = 0;
  std::uint32_t send = 0;
  std::uint32_t state = 0;  // the checker's too: what the sender depended on (Lineage)
  std::uint32_t bytes = 0;  // of a run that is timed
};

struct Frame {
  wire::FrameKind kind = wire::FrameKind::eager;
  bool opening = false;      // the first frame of a channel: `position` is where it continues the log
  bool synchronous = false;
  bool numbered = false;     // of a collective: taken by its number, in any order
  Rank source{};
  Incarnation incarnation{};
  Context context{};
  Sequence sequence{};
  MessageTag tag{};
  std::uint64_t position = 0;  // logged kinds: number of the record in the sender's stream to this receiver
  Payload payload;
  std::shared_ptr<const std::vector<std::byte>> dependencies;  // of a frame that only says what those behind it depend on
  bool large() const { return kind == wire::FrameKind::rendezvous; }
  bool logged() const { return kind != wire::FrameKind::clear_to_send && kind != wire::FrameKind::data && !opening; }
};

// Names a message between two ranks.
struct MessageName {
  std::uint64_t value;
  explicit MessageName(const Frame& f) : value(f.context.value << 48 | f.sequence.value) {}
  MessageName(Context context, Sequence sequence) : value(context.value << 48 | sequence.value) {}
  auto operator<=>(const MessageName&) const = default;
};

}  // namespace hf::sim::job
