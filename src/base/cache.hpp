// What a processor's caches may be told ahead of time. Hints: never wrong, at worst useless.
#pragma once

namespace hf {

// The line will be written next: it comes for this core alone. __builtin_prefetch of a generic x86-64 build would fetch it for
// reading, and the store would wait for the other core all the same.
inline void prefetch_for_writing(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace hf
