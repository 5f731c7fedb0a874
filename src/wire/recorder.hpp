// What the preloaded recorder (src/recorder) and the MPI library of the same process say to each other, and what the recorder asks of the
// agent. docs/recorder.md.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hf::wire {

inline constexpr std::uint32_t recorder_version = 7;
inline constexpr const char* recorder_symbol = "holdfast_recorder";
inline constexpr const char* recorder_file = "libholdfast_recorder.so";

// Who is to hear of the order of threads (docs/threads.md).
struct ThreadOwner {
  void* self = nullptr;
  bool (*several)(void* self) = nullptr;                // there is a second thread, or is about to be: they are ordered from now on. False: not yet
  void (*note)(void* self, const char* text) = nullptr;
  void (*end)(void* self, const char* text) = nullptr;  // the replay differs; does not return
  bool may_give_up = false;  // the order does not matter while only one thread calls MPI; others' clocks are not recorded until another one has
  std::uint64_t* word = nullptr;                        // where the number of operations is stored
};

// Where events go. By a thread that may record, under its locks.
struct EventStore {
  void* self = nullptr;
  void (*append)(void* self, const void* event, std::size_t bytes) = nullptr;
  // Null where nothing of it can be lost, or it may be. Returns once no loss that the job survives can lose what was appended; and the number of the MPI call last begun.
  void (*await_stable)(void* self) = nullptr;
  const std::uint64_t* call = nullptr;
};

// How far this rank has come in its replay.
enum class ReplayEnd {
  unknown,        // only whether anything is out of sight is asked
  events_before,  // as below; others have had so many more messages that this is not the last call which sent one of them, in all likelihood
  events,         // no event of MPI is left; which calls its predecessors had begun behind that is not known. Told again with each call
  last_call,      // the last one that they are known to have begun: what comes behind it they may have done or not
  as_peers_know,  // as far as they had come when their node was lost, as other ranks know
  past            // in a call that they had not begun
};

// The recorder's one symbol beside those that it replaces; the MPI library finds it by name. One thread calls all of it, but for what says else.
struct RecorderLink {
  std::uint32_t version;
  // MPI_Init has begun, in the thread that records from now on; calls from the loaded object around `inside` are the library's own.
  // False: the recorder could not ask the agent for what this rank's predecessors recorded, or this is the child of a process that it cannot go on from.
  bool (*begin)(const void* inside);
  // Events go to the store from now on, those from before at once; the number of clock reads is stored into `*clock_reads`. False: too
  // much was recorded before.
  bool (*attach)(const EventStore* store, std::uint64_t* clock_reads);
  // In which MPI call, or behind which one, the run before is known to have changed a file; 0: not known.
  std::uint64_t (*last_call)();
  // Writes an event for the reads of a clock that have none yet, and one for the operations of threads.
  void (*flush)();

  // This rank has come so far; it is to be told again, until it is `past`. True: nothing that the program does to files is out of sight.
  bool (*caught_up)(ReplayEnd end);

  // ---- threads that call MPI in turn
  // They are ordered from now on, as far as they can be; null: they are not. Once, after attach.
  void (*order_threads)(const ThreadOwner* owner);
  void (*order_now)();        // if there are several: `several` has said not yet
  void (*order_no_longer)();  // nothing depends on them any more. By who has the lock
  // Any thread, once they are ordered. The call waits for its turn: true, when the run before made it, and then. `function`: for a user.
  bool (*await_turn)(const char* function);
  // Takes the lock that others need to record anything. False: what this thread does is not ordered.
  bool (*enter_call)();
  void (*leave_call)();  // gives it back
  void (*offer)();       // inside a call, now and then: others may have it for a moment
  int (*lay_down)();     // inside a call: others may have it until take_up, which is given what this returned
  void (*take_up)(int depth);
  // Inside a call a function of the program is called: others may have the lock, and this thread operations of its own, until come_back. A
  // call inside that function is between enter_nested and leave_call.
  int (*go_out)();
  void (*come_back)(int depth);
  void (*enter_nested)();
  // Any thread: the time that a call of MPI is about to give the program, recorded as if it were the C library's.
  void (*give_time)(double* seconds);
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
  std::uint64_t thread_turns = 0;
};

}  // namespace hf::wire
