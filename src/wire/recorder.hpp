// What the preloaded recorder (src/recorder) and the MPI library of the same process say to each other, and what the recorder asks of the
// agent. docs/recorder.md.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hf::wire {

inline constexpr std::uint32_t recorder_version = 1;
inline constexpr const char* recorder_symbol = "holdfast_recorder";
inline constexpr const char* recorder_file = "libholdfast_recorder.so";

// The recorder's one symbol beside those that it replaces; the MPI library finds it by name. One thread calls all of it.
struct RecorderLink {
  std::uint32_t version;
  // MPI_Init has begun, in the thread that records from now on; calls from the loaded object around `inside` are the library's own.
  // False: the recorder could not ask the agent for what this rank's predecessors recorded.
  bool (*begin)(const void* inside);
  // Events go to `append` from now on, those from before at once; the number of clock reads is stored into `*clock_reads`. False: too
  // much was recorded before.
  bool (*attach)(void (*append)(void* self, const void* event, std::size_t bytes), void* self, std::uint64_t* clock_reads);
  // Writes an event for the reads of a clock that have none yet.
  void (*flush)();
};

// The recorder's only question to the agent, BootstrapKind::get_past, before or instead of hello; answered by past (fd: a memory file of
// so many bytes, the events of the C library of all earlier incarnations, those of files first), by absent (there is none), or by refused.
struct PastName {
  std::uint32_t version = recorder_version;
  std::int32_t rank = 0;
};
struct PastInfo {
  std::uint64_t bytes = 0;
  std::uint64_t clock_reads = 0;
};

}  // namespace hf::wire
