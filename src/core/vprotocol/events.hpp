// The determinants of one rank and their encoding in the event log (paper 000, III.A and IV.A; docs/events.md).
// Encoded: EventHead, then `count` int32 indices for deliveries, padded to 16 bytes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace hf::core::vprotocol {

enum class EventKind : std::uint32_t {
  match = 1,  // key: request number; value: source taken by an any-source receive or blocking probe
  delivery,   // key: test clock; indices: what the test found complete, in the order returned
  time,       // key: bits of the double that MPI_Wtime returned
  cancel,     // key: request number; value: 1 cancelled, 0 not
};

struct EventHead {
  EventKind kind{};
  std::uint32_t count = 0;  // delivery: number of indices; others: the value
  std::uint64_t key = 0;
};
static_assert(sizeof(EventHead) == 16);

inline constexpr std::uint32_t delivery_indices_max = 1u << 28;

constexpr std::uint64_t encoded_bytes(const EventHead& head) {
  return head.kind == EventKind::delivery ? sizeof(EventHead) + (std::uint64_t{head.count} * 4 + 15) / 16 * 16
                                          : sizeof(EventHead);
}

// How much of these bytes, the beginning of an event stream, are whole events.
std::size_t whole_events(Bytes stream);

void encode(std::vector<std::byte>& out, const EventHead& head, std::span<const std::int32_t> indices = {});

}  // namespace hf::core::vprotocol
