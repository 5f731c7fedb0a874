// The control segment of one incarnation of a rank: one shared mapping that the rank alone writes; its agent and the
// ranks of its node read it, also after its death. All zero when the agent creates it. docs/segments.md has the page.
//
// Everything that another process reads is written by one store of a machine word (release) after what it announces.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace hf::segment {

inline constexpr std::uint64_t control_magic = 0x31304c54434648ull;  // "HFCTL01"
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t ring_lines = 1024;  // a power of two
inline constexpr std::size_t ring_bytes = line_bytes * ring_lines;
inline constexpr std::size_t exposure_count = 64;

// Totals of this incarnation, for the report; plain counters, each read alone.
struct Counters {
  std::uint64_t messages_sent, bytes_sent;            // transmitted by this incarnation
  std::uint64_t messages_logged, bytes_logged;        // appended to its sender log
  std::uint64_t messages_received, bytes_received;    // completed receives
  std::uint64_t bytes_unprotected;                    // sent without a log although the protocol logs
  std::uint64_t determinants;                         // appended to its event log
  std::uint64_t messages_replayed;                    // receives served from logs
  std::uint64_t sends_suppressed;                     // replayed sends found in a predecessor's log
  std::uint64_t dependency_frames, dependency_bytes;  // optimist: sent before messages, headers not counted
  std::uint64_t log_left;                             // most that its sender log and events took after a checkpoint had freed what it covers
};

inline Counters& operator+=(Counters& sum, const Counters& c) {
  sum.messages_sent += c.messages_sent;
  sum.bytes_sent += c.bytes_sent;
  sum.messages_logged += c.messages_logged;
  sum.bytes_logged += c.bytes_logged;
  sum.messages_received += c.messages_received;
  sum.bytes_received += c.bytes_received;
  sum.bytes_unprotected += c.bytes_unprotected;
  sum.determinants += c.determinants;
  sum.messages_replayed += c.messages_replayed;
  sum.sends_suppressed += c.sends_suppressed;
  sum.dependency_frames += c.dependency_frames;
  sum.dependency_bytes += c.dependency_bytes;
  sum.log_left += c.log_left;
  return sum;
}

enum class Phase : std::uint32_t { starting = 0, initialized = 1, finalizing = 2, finalized = 3 };

// On its doorbell. Protocol optimist: the agent rings it for news of what is stable only if it waits for that.
enum class Sleeping : std::uint32_t { no = 0, yes = 1, until_stable = 2 };

struct ControlHeader {
  std::uint64_t magic;  // written last in set-up
  std::int32_t rank, rank_count;
  std::uint32_t incarnation;
  Phase phase;
  alignas(64) std::uint64_t call;      // number of the MPI call last begun
  std::uint64_t last_failed_test;      // clock of the last completion test that found nothing (lazy event; design rule 4)
  // Level `node`: how far this rank may have sent its events with messages, over all incarnations, and its last failed test then.
  std::uint64_t carried_events, carried_failed;
  std::uint64_t clock_reads;           // of the program, so far: those behind the last event of a clock have none (docs/recorder.md)
  std::uint64_t thread_turns;          // the same of operations of threads (docs/threads.md): number << 24 | ms since the last event
  std::uint64_t first_held_call;       // the earliest call some of whose sends are not published yet: their gate is closed; 0: none
  std::uint64_t out_of_sight_from;     // what the program does to files from this call on is not in them yet (docs/recorder.md); 0: it is
  std::uint32_t level;                 // 1: this incarnation has done again what others know of its predecessors (engine/how_far.cpp)
  std::uint32_t asks_how_far;          // 1: others are to tell this rank whether they are level
  alignas(64) Sleeping sleeping;
  std::uint64_t waiting;               // for whom, while a wait is long (waiting.hpp); 0: none is
  alignas(64) Counters counters;
  // For reading the rank's memory (os/process_memory.hpp); pid is written last, 0: not to be read.
  alignas(64) std::int32_t pid;
  std::uint64_t cookie_address, cookie[2];
  alignas(64) std::uint64_t exposures[exposure_count];  // tickets, see exposure.hpp
};

// A chunk of a stream, and which it is, counted from 0.
constexpr std::uint64_t first_chunk_word(std::uint64_t number, std::uint32_t chunk) { return number << 32 | chunk; }
constexpr std::uint32_t chunk_of_word(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
constexpr std::uint64_t number_of_word(std::uint64_t word) { return word >> 32; }

// A log stream: `tail` bytes are published. Streams 0 .. rank_count-1: sender log per destination; rank_count: events.
struct alignas(64) StreamEntry {
  std::uint64_t tail;
  std::uint64_t first;  // first_chunk_word: all before it was dropped
  std::uint32_t released;  // not 0: given back, its chunks belong to others; all of it had been taken
  // What stands from `gated_from` on may be read once the events before `needs_events`, and what the test `needs_failed` did not find,
  // are stable at level `node`. Written before the tail.
  std::uint64_t gated_from, needs_events, needs_failed;
};

// This rank's ring to a local peer. Valid for the peer's incarnation `reader_plus_1 - 1`, which is written last.
struct alignas(64) RingOpening {
  std::uint64_t reader_plus_1;
  std::uint64_t first_line;  // number of the first line (lines are numbered from 0 for ever, modulo ring_lines)
  std::uint64_t position;    // wire::Opening::position
};

// What this rank has taken from a local peer's ring to it.
struct alignas(64) Inbound {
  std::uint64_t taken;     // (incarnation of the writer + 1) << 40 | lines taken (40 bits)
  std::uint64_t released;  // the same for eager bytes released in all: credit
  std::uint64_t log_done;  // position in the writer's log stream before which this rank needs nothing any more, and
                           //   the writer's incarnation as above: told by an unprotected rank, and by one that a checkpoint covers
  std::uint64_t taken_before;  // messages of the writer's predecessors that this rank had taken when it attached. Written before `released`
  std::uint64_t reading;   // ticket of the writer's exposed buffer that this rank reads now, or was the last to read and will go
                           //   on from; 0: none. The writer waits a little for it (docs/large-messages.md): a hint
};
// Of a payload that this rank is reading out of a local peer's memory: the peer may write a part of it. joint_copy.hpp
struct alignas(64) JointOffer {
  std::uint64_t number;  // written last; 0: closed
  std::uint64_t from, into, bytes, piece_bytes, ticket;
  std::uint64_t front;   // pieces before this one are this rank's
};
// What this rank writes of a local peer's offer.
struct alignas(64) JointHelp {
  std::uint64_t active;  // the offer's number, meanwhile
  std::uint64_t last;    // of the last one that it has left; before `active` is cleared
  std::uint64_t back;    // this piece and those behind it are this rank's
};
inline constexpr int taken_bits = 40;
inline constexpr std::uint64_t taken_mask = (std::uint64_t{1} << taken_bits) - 1;
// One word of Inbound: whose progress it tells, and the low bits of the count.
constexpr std::uint64_t inbound_word(Incarnation writer, std::uint64_t count) {
  return (std::uint64_t{writer.value} + 1) << taken_bits | (count & taken_mask);
}
constexpr bool inbound_is_of(std::uint64_t word, Incarnation writer) {
  return word >> taken_bits == std::uint64_t{writer.value} + 1;
}

constexpr std::size_t streams_offset = 4096;
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
constexpr std::size_t openings_offset(int ranks) {
  return streams_offset + (static_cast<std::size_t>(ranks) + 1) * sizeof(StreamEntry);
}
constexpr std::size_t inbound_offset(int ranks) {
  return openings_offset(ranks) + static_cast<std::size_t>(ranks) * sizeof(RingOpening);
}
constexpr std::size_t offers_offset(int ranks) {
  return inbound_offset(ranks) + static_cast<std::size_t>(ranks) * sizeof(Inbound);
}
constexpr std::size_t helps_offset(int ranks) {
  return offers_offset(ranks) + static_cast<std::size_t>(ranks) * sizeof(JointOffer);
}
constexpr std::size_t rings_offset(int ranks) {
  return round_up(helps_offset(ranks) + static_cast<std::size_t>(ranks) * sizeof(JointHelp), 4096);
}
// Size of the control segment of a job of so many ranks. Sparse: only rings that are used take memory.
constexpr std::size_t control_bytes(int ranks) {
  return rings_offset(ranks) + static_cast<std::size_t>(ranks) * ring_bytes;
}
static_assert(sizeof(ControlHeader) <= streams_offset);

template <class T>
T load_acquire(const T& word) {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}
template <class T>
void store_release(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}
template <class T>
T load_relaxed(const T& word) {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
}
template <class T>
void store_relaxed(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}

// A mapped control segment; does not own the mapping. Read-only views must not call the non-const members.
class ControlView {
 public:
  ControlView() = default;
  ControlView(std::byte* base, int ranks) : base_(base), ranks_(ranks) {}
  explicit operator bool() const { return base_ != nullptr; }
  int ranks() const { return ranks_; }
  ControlHeader& header() const { return *reinterpret_cast<ControlHeader*>(base_); }
  StreamEntry& stream(int index) const { return at<StreamEntry>(streams_offset, index); }
  RingOpening& opening(Rank to) const { return at<RingOpening>(openings_offset(ranks_), to.value); }
  Inbound& inbound(Rank from) const { return at<Inbound>(inbound_offset(ranks_), from.value); }
  JointOffer& joint_offer(Rank to) const { return at<JointOffer>(offers_offset(ranks_), to.value); }
  JointHelp& joint_help(Rank to) const { return at<JointHelp>(helps_offset(ranks_), to.value); }
  std::byte* ring(Rank to) const {
    return base_ + rings_offset(ranks_) + static_cast<std::size_t>(to.value) * ring_bytes;
  }
  // True when another process's segment is what its name says.
  bool valid(Rank rank, Incarnation incarnation) const {
    const ControlHeader& h = header();
    return load_acquire(h.magic) == control_magic && h.rank == rank.value && h.rank_count == ranks_ &&
           h.incarnation == incarnation.value;
  }

 private:
  template <class T>
  T& at(std::size_t offset, int index) const {
    return *reinterpret_cast<T*>(base_ + offset + static_cast<std::size_t>(index) * sizeof(T));
  }
  std::byte* base_ = nullptr;
  int ranks_ = 0;
};

}  // namespace hf::segment
