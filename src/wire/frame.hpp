// The header that every frame begins with, on every rail, and that every record of a sender log begins with. One format,
// so that a receiver takes a record from a log exactly as it takes a frame from a rail. docs/frames.md has the page.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace hf::wire {

enum class FrameKind : std::uint8_t {
  eager = 1,        // envelope with its whole payload (`length` bytes follow)
  rendezvous,       // envelope alone: the payload waits at the sender, or in its log
  matched,          // acknowledgement of a synchronous send: names the message by (context, sequence); no payload
  clear_to_send,    // receiver asks for the payload of (context, sequence); no payload. Not logged
  data,             // a piece of the payload of (context, sequence): `offset`, `length` bytes follow. Not logged
  credit,           // receiver has released `offset` eager bytes in all on this connection; no payload. Not logged. The first of a
                    //   connection tells in `sequence` how many messages of the sender's predecessors it had taken
  events,           // over a network: determinants of the sender that frames behind this one depend on: `length` bytes of its event
                    //   stream follow, from `offset` on; `sequence`: its last failed test, `context`: its term. Not logged
  dependencies,     // protocol optimist: on what the messages behind this one depend: a list of `length` bytes follows (docs/optimist.md)
};

inline constexpr std::uint64_t dependencies_bytes_max = 4096;  // in one frame; a longer list is several

enum FrameFlags : std::uint8_t {
  flag_synchronous = 1,  // the sender wants `matched`
  flag_numbered = 2,     // a collective's message: taken by number, not by tag
  flag_logged = 4,       // the payload is in the sender's log, at record `position`
  flag_exposed = 8,      // rendezvous on shared memory: an Exposed follows
  flag_ahead = 16,       // logged, over a network: sent before the record was published; its sender may die before it is
  flag_follows = 32,     // rendezvous, over a network: the first pieces of the payload follow unasked (docs/tcp.md)
  flag_asks = 64,        // credit: the receiver is to tell once it is level with its predecessors (engine/how_far.cpp)
  flag_level = 128,      // credit: this rank is
};

inline constexpr std::uint8_t flags_anywhere = flag_synchronous | flag_numbered | flag_logged;
inline constexpr std::uint8_t flags_on_shared_memory = flags_anywhere | flag_exposed;
inline constexpr std::uint8_t flags_on_network = flags_anywhere | flag_ahead | flag_follows | flag_asks | flag_level;

struct FrameHeader {
  FrameKind kind{};
  std::uint8_t flags = 0;
  std::uint16_t check = 0;          // log records: fold of the other fields (frame.cpp); frames on rails: 0
  std::uint32_t incarnation = 0;    // of the sender
  std::int32_t source = 0;          // job-wide rank of the sender
  std::int32_t tag = 0;
  std::uint64_t context = 0;
  std::uint64_t sequence = 0;
  std::uint64_t length = 0;         // payload bytes of the message (data: of this piece)
  std::uint64_t offset = 0;         // data: where the piece begins; credit: see above; clear_to_send: first byte wanted
  std::uint64_t position = 0;       // where the record stands in the sender's log stream to this receiver
};
static_assert(sizeof(FrameHeader) == 56);

// Where a receiver of the same node may read the payload itself (segment/exposure.hpp). Without a log until it has asked for
// nothing more by a clear_to_send of length 0; the ticket then only says whether the sender waits for that.
struct Exposed {
  std::uint64_t address = 0;  // in the sender
  std::uint64_t ticket = 0;
};
inline constexpr std::uint64_t ticket_waits = 1;

// Payload bytes that follow this header on a rail.
constexpr std::uint64_t payload_on_rail(const FrameHeader& h) {
  if (h.kind == FrameKind::rendezvous && h.flags & flag_exposed) return sizeof(Exposed);
  using enum FrameKind;
  constexpr unsigned whole = 1u << unsigned(eager) | 1u << unsigned(data) | 1u << unsigned(events) | 1u << unsigned(dependencies);
  return whole >> (unsigned(h.kind) & 31) & 1 ? h.length : 0;
}
// Payload bytes that follow this header in a log stream.
constexpr std::uint64_t payload_in_log(const FrameHeader& h) {
  return h.kind == FrameKind::eager || h.kind == FrameKind::rendezvous || h.kind == FrameKind::dependencies ? h.length : 0;
}

// Structural validity of a header from a peer or a file: known kind and flags, length within `payload_max`, source in range.
bool plausible(const FrameHeader& header, int rank_count, std::uint64_t payload_max, std::uint8_t flags_allowed = flags_anywhere);

// The check word: all fields but `check`, each times an odd number of its own, so that the products do not wait for each other.
inline std::uint16_t fold(const FrameHeader& h) {
  std::uint64_t x = static_cast<std::uint64_t>(h.kind) | std::uint64_t{h.flags} << 8 | std::uint64_t{h.incarnation} << 16;
  std::uint64_t y = static_cast<std::uint32_t>(h.source) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(h.tag)) << 32;
  x = x * 0x9e3779b97f4a7c15u + y * 0xc2b2ae3d27d4eb4fu + h.context * 0x165667b19e3779f9u + h.sequence * 0xd6e8feb86659fd93u +
      h.length * 0xa0761d6478bd642fu + h.offset * 0xe7037ed1a0b428dbu + h.position * 0x8ebc6af09c88c6e3u;
  x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint16_t>(x >> 48) | 1;  // never 0: a zero page is never a record
}

// Writes a header field by field, as it was made: a copy in larger words waits until all that this core has stored, lines that
// are on their way from other cores too, has reached its cache.
inline void store(const FrameHeader& h, std::byte* out) {
  auto* to = reinterpret_cast<FrameHeader*>(out);
  to->kind = h.kind;
  to->flags = h.flags;
  to->check = h.check;
  to->incarnation = h.incarnation;
  to->source = h.source;
  to->tag = h.tag;
  to->context = h.context;
  to->sequence = h.sequence;
  to->length = h.length;
  to->offset = h.offset;
  to->position = h.position;
}

// First frame in each direction of a connection (and of a ring): joins two incarnations, and says from where in the
// sender's log stream the connection continues (design section 6.3). What stands before `position` comes from the log.
struct Opening {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t peer_incarnation = 0;  // whom the opener believes to be talking to
  std::uint32_t reserved = 0;
  std::uint64_t position = 0;
};

}  // namespace hf::wire
