// The recorder of this process: whether a call is to be recorded, and where events go. There is one, made by nobody: the C library
// is called before any constructor has run.
//
// Recorded is what the program itself calls in its main thread, or the one that calls MPI_Init, outside of signal handlers: how often
// other threads and handlers call differs from run to run. Where threads are ordered (threads.hpp) their clocks, random bytes and process
// ids are recorded too.
#pragma once
#include <errno.h>
#include <time.h>

#include "recorder/recording.hpp"
#include "recorder/threads.hpp"

namespace hf::recorder {

class Process {
 public:
  constexpr Process();

  // `caller`: the return address of the function that was called. Followed by a LibcOperation.
  [[gnu::always_inline]] bool records(const void* caller) {
    if (state_ != State::on) [[unlikely]] {
      if (state_ == State::off || !start()) return false;
    }
    if (is_of_library(caller) || inside_handler()) return false;
    return on_main_thread() || threads.orders_this_thread();
  }
  bool on_main_thread() const { return thread_ == __builtin_thread_pointer(); }
  // What only the main thread's calls are recorded of.
  [[gnu::always_inline]] bool records_in_main_thread(const void* caller) {
    return records(caller) && on_main_thread();
  }
  // What the program's clock is ahead of the system's: in what is recorded, and else by the host alone, so that all threads have one clock.
  std::int64_t ahead_ns(const void* caller, clockid_t clock) {
    const auto number = static_cast<std::uint32_t>(clock);
    if (number >= clock_count || is_of_library(caller)) return 0;
    return records(caller) ? recording.offset(number) : recording.host_offset(number);
  }
  bool sets_clocks() const { return recording.sets_clocks(); }  // false: they are the system's
  bool on_other_host(const void* caller) const { return !recording.is_first_host() && !is_of_library(caller); }
  bool has_begun() const { return store_.append != nullptr; }  // MPI_Init has: events are stored
  // It records, or will.
  bool may_record() const { return state_ != State::off; }
  // What is recorded in a call comes after what it stores: the reads of a clock that have no event.
  void publish_reads() { __atomic_store_n(published_reads_, recording.clock_reads(), __ATOMIC_RELEASE); }

  const timespec& began() const { return began_; }  // later than any date of a file of the incarnation before

  std::int64_t first_began_ns() const { return static_cast<std::int64_t>(first_began_ns_); }  // when the first incarnation began

  static void append_event(const void* event, std::size_t bytes);

  // wire::RecorderLink
  bool begin(const void* inside);
  bool attach(const wire::EventStore& store, std::uint64_t* clock_reads);
  void flush();  // an event for the reads of a clock that have none yet, and one for the operations of threads
  // What the program does next cannot be undone, nor done twice: nobody is to lose what it depends on.
  void await_stable();

  Recording recording;

 private:
  enum class State : std::uint8_t { unknown, on, off };
  bool start();
  void find_out();
  bool is_of_library(const void* caller) const {
    return reinterpret_cast<std::uintptr_t>(caller) - threads.library_begin < threads.library_bytes;
  }
  void stop();
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  void decide_fork();
  void become_child();
  bool is_rank();
  bool ask_for_past(const char* agent, std::int32_t rank);
  bool load(const std::byte* past, const wire::PastInfo& info);
  void record_beginning();
  void append_in_turn(const void* event, std::size_t bytes);
  void keep(const void* event, std::size_t bytes);
  void note_call();
  [[noreturn]] static void diverged(const char* what);

  State state_ = State::unknown;
  timespec began_{};
  const void* thread_ = nullptr;
  wire::EventStore store_;  // without functions before MPI_Init
  std::uint64_t noted_call_ = 0;
  std::uint64_t unpublished_reads_ = 0;
  std::uint64_t* published_reads_;
  // Events from before MPI_Init.
  std::byte* kept_ = nullptr;
  std::size_t kept_bytes_ = 0;
  bool too_many_ = false;
  std::uint64_t program_ = 0;  // what this process runs
  bool program_is_recorded_ = false;
  HostClocks host_clocks_;
  bool host_is_recorded_ = false;
  std::uint64_t first_began_ns_ = 0;
  bool began_is_recorded_ = false;
  // Forks before MPI_Init, by the thread that records: a child may call MPI_Init, and is then the rank.
  std::uint64_t forks_ = 0;
  enum class Fork : std::uint8_t { of_no_rank, perhaps_of_rank, of_rank } fork_ = Fork::of_no_rank;
};

extern Process process;

void give_time(double* seconds);  // clocks.cpp
void begin_process_ids();         // ids.cpp: in a child that goes on with the record of its parent

void* find_next(const char* name, const char* version = nullptr);  // next.cpp

// The function that a name would call without the recorder.
template <class Function>
Function* next(Function*& cached, const char* name) {
  if (!cached) [[unlikely]] cached = reinterpret_cast<Function*>(find_next(name));
  return cached;
}

}  // namespace hf::recorder

// To be seen, and to be found in place of the C library's.
#define HOLDFAST_REPLACES extern "C" [[gnu::visibility("default")]]
// In such a function: where it was called from.
#define CALLER __builtin_return_address(0)
