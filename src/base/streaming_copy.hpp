// Copies to memory that this core will not read again soon: around the cache, without reading what is overwritten.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hf {

// Stores around the cache (a program's memset and memcpy make such too, for large sizes) may be overtaken by others: none
// passes this line.
inline void fence_streamed() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// The bytes are visible to others after fence_streamed() and any later release store.
inline void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  if (bytes >= 1024) {
    std::memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= 64; to += 64, from += 64, bytes -= 64) {
      const auto* in = reinterpret_cast<const __m128i*>(from);
      auto* out = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
      const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace hf
