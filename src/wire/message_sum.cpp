#include "wire/message_sum.hpp"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hf::wire {
namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t lines_max = summed_bytes_max / line_bytes;

}  // namespace

std::uint64_t envelope_sum(const FrameHeader& h) {
  const std::uint64_t flags = h.flags & (flag_synchronous | flag_numbered);
  std::uint64_t x = h.sequence * 0x9e3779b97f4a7c15u + static_cast<std::uint32_t>(h.tag) * 0xc2b2ae3d27d4eb4fu +
                    h.length * 0x165667b19e3779f9u + flags * 0xd6e8feb86659fd93u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

std::uint64_t payload_sum(std::uint64_t number, Bytes payload) {
  if (payload.size() <= summed_bytes_max) return XXH3_64bits_withSeed(payload.data(), payload.size(), number);
  std::byte lines[summed_bytes_max];
  const std::uint64_t last = payload.size() - line_bytes;
  for (std::uint64_t i = 0; i < lines_max; ++i) {
    // No product of the size: it may be that of a message of any length.
    const std::uint64_t at = last / (lines_max - 1) * i + last % (lines_max - 1) * i / (lines_max - 1);
    std::memcpy(lines + i * line_bytes, payload.data() + at, line_bytes);
  }
  return XXH3_64bits_withSeed(lines, sizeof lines, number);
}

}  // namespace hf::wire
