// Checksums of a message: of its envelope, and of its payload where that is at hand. Those of several messages are added up
// (core/vprotocol/taken_sums.hpp), in whatever order. Pure.
#pragma once
#include <cstdint>

#include "base/bytes.hpp"
#include "wire/frame.hpp"

namespace hf::wire {

struct MessageSum {
  std::uint64_t envelope = 0;  // number, tag, length, and what its flags say that the program did
  std::uint64_t payload = 0;
  bool has_payload = false;
};

// Of a payload of more bytes, only so many: lines of 64, spread evenly over it, the first and the last among them.
inline constexpr std::uint64_t summed_bytes_max = 8192;

std::uint64_t envelope_sum(const FrameHeader& header);
// `number` goes in too: two messages that change places have another sum.
std::uint64_t payload_sum(std::uint64_t number, Bytes payload);
inline MessageSum message_sum(const FrameHeader& header) { return {envelope_sum(header), 0, false}; }
inline MessageSum message_sum(const FrameHeader& header, Bytes payload) {
  return {envelope_sum(header), payload_sum(header.sequence, payload), true};
}

}  // namespace hf::wire
