// Memory of the library's own, away from where the system places what the program maps: that has the same addresses in each incarnation then, whatever
// the library maps in a replay (docs/recovery.md, The program's memory).
#pragma once
#include <cstddef>

namespace hf {

// As mmap without an address: MAP_FAILED and errno. Given back by munmap. Any thread.
[[gnu::visibility("hidden")]] void* map_apart(std::size_t bytes, int protection, int flags, int fd = -1) noexcept;

}  // namespace hf
