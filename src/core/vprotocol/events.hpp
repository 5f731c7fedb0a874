// The determinants of one rank and their encoding in the event log (paper 000, III.A and IV.A; docs/events.md).
// Encoded: EventHead, then what is recorded: for deliveries `count` int32 indices, for libc_bytes `count` bytes, padded to 16.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace hf::core::vprotocol {

enum class EventKind : std::uint32_t {
  match = 1,  // key: request number; value: source taken by an any-source receive or blocking probe
  delivery,   // key: test clock; indices: what the test found complete, in the order returned. None: that test and those before it
              //   found nothing
  time,       // key: bits of the double that MPI_Wtime returned
  cancel,     // key: request number; value: 1 cancelled, 0 not
  // Of the C library, written and replayed by the recorder (src/recorder), not by MPI calls:
  clock,       // key: ns; value: clock << clock_shift | reads before it that have no event
  libc_value,  // key: what a call returned; value: the call (recorder/recording.hpp)
  libc_bytes,  // key: the call; value: number of bytes, which follow
  file,        // key: of its name; value: what is done to it. What it was follows (docs/recorder.md)
  dependency,  // no event: under optimist, on what else the state behind it depends. value: rank; key: term << 48 | position
  turn,        // of the recorder too: whose the operations from this one on are (docs/threads.md)
};

constexpr bool is_of_libc(EventKind kind) { return (kind >= EventKind::clock && kind <= EventKind::file) || kind == EventKind::turn; }

struct EventHead {
  EventKind kind{};
  std::uint32_t count = 0;  // delivery: number of indices; libc_bytes: of bytes; others: the value
  std::uint64_t key = 0;
};
static_assert(sizeof(EventHead) == 16);

inline constexpr std::uint32_t delivery_indices_max = 1u << 28;
inline constexpr std::uint32_t file_found = 128, file_status_bytes = 96;  // a file event whose value has this bit is followed by so much

constexpr std::uint64_t encoded_bytes(const EventHead& head) {
  std::uint64_t more = 0;
  if (head.kind == EventKind::delivery) more = std::uint64_t{head.count} * 4;
  if (head.kind == EventKind::libc_bytes) more = head.count;
  if (head.kind == EventKind::file) more = (head.count & file_found) != 0 ? file_status_bytes : 16;
  return sizeof(EventHead) + (more + 15) / 16 * 16;
}

// How much of these bytes, the beginning of an event stream, are whole events.
std::size_t whole_events(Bytes stream);

// Encoded events that are to be stored.
class EventBuffer {
 public:
  void append(const EventHead& head) { blocks_.push_back(head); }
  void append(const EventHead& head, std::span<const std::int32_t> indices);
  Bytes bytes() const { return std::as_bytes(std::span(blocks_)); }
  std::size_t size() const { return blocks_.size() * sizeof(EventHead); }
  bool empty() const { return blocks_.empty(); }
  void clear() { blocks_.clear(); }

 private:
  std::vector<EventHead> blocks_;  // all events are multiples of a head
};

}  // namespace hf::core::vprotocol
