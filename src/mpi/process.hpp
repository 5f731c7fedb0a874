// The one process object: owns the engine and the predefined objects. Reached only from abi/; everything in mpi/ gets it
// as its first argument.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/collectives/choice.hpp"
#include "engine/engine.hpp"
#include "mpi/buffered.hpp"
#include "mpi/comm.hpp"
#include "mpi/error.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/fortran_abi.hpp"
#include "mpi/message.hpp"

namespace hf::mpi {

struct Datatype;
struct Op;
struct Request;

class Process {
 public:
  Process();
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Whether MPI may be called: from MPI_Init or the first MPI_Session_init until MPI_Finalize and the last MPI_Session_finalize (joining.hpp).
  enum class Phase { before_join, joined, left } phase = Phase::before_join;
  enum class World { before_init, initialized, finalized } world_phase = World::before_init;  // by MPI_Init and MPI_Finalize
  int open_sessions = 0;
  std::unique_ptr<engine::Engine> engine;  // from the first joining on
  Comm* world = nullptr;  // from MPI_Init on
  Comm* self = nullptr;
  int thread_level = 0;      // MPI_THREAD_..., as provided: fixed when the process joins its job
  const void* main_thread = nullptr;  // the one that joined, as this_thread() tells
  const void* world_thread = nullptr;  // the one that called MPI_Init
  const void* only_thread = nullptr;   // the main one; null once a second one has called

  // Predefined objects that exist from the start.
  Errhandler errors_are_fatal, errors_abort, errors_return;
  Message message_no_proc;

  Errhandler* file_errhandler;  // one reference; MPI_FILE_NULL's, at first MPI_ERRORS_RETURN (14.7)

  KeyvalTable keyvals;
  PredefinedAttributes predefined_attributes{};
  ErrorCodes error_codes;

  // A thread's address: a register, so that each call may look at it.
  static const void* this_thread() { return __builtin_thread_pointer(); }
  bool on_main_thread() const { return this_thread() == main_thread; }
  // Every MPI call of the program while it has joined begins here, once. Which thread calls next is not recorded: from the first
  // call of a second thread on, this rank cannot be recovered, but where the engine orders them. What it returns is for end_call.
  enum class Marked : std::uint8_t { no, nested, yes };  // nested: in a function of the program that an MPI call has called
  Marked begin_call(const char* function) {
    const Marked marked = this_thread() != only_thread ? enter_among_several(function) : Marked::no;
    engine->enter_call();
    return marked;
  }
  void end_call(Marked marked) {
    if (marked == Marked::no) [[likely]] return;
    if (in_order_) engine->leave_turn();
    if (marked == Marked::yes) inside_.store(nullptr, std::memory_order_release);
  }
  // While a function of the program runs that an MPI call has called: other threads may go on.
  class Outside {
   public:
    explicit Outside(Process& p) : engine_(p.in_order_ ? p.engine.get() : nullptr), depth_(engine_ ? engine_->go_out() : 0) {}
    ~Outside() {
      if (engine_) [[unlikely]] engine_->come_back(depth_);
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    engine::Engine* engine_;
    int depth_;
  };
  // Whether the calling thread is in such a function. One may have been left by longjmp.
  bool (*in_callback)() = [] { return true; };
  void order_threads(bool may_give_up);  // whether the order is given up where a replay does not go on, rather than the job

  // Remembers one line about the error being returned, for the error handler's message; returns the code.
  int explain(int code, std::string text);
  std::string take_explanation();

  // Names the communicator whose error handler the error being returned goes to, when the call has none among its
  // arguments (completion functions). Taken once; null: none was named, MPI_COMM_SELF's is meant (MPI 5.0, 9.3).
  void blame(Comm* comm);
  Comm* take_blamed();  // the caller releases it

  // Buffers for buffered sends (MPI 5.0, 3.6).
  BufferSpaces buffers;

  FortranAbi fortran;

  core::collectives::ChoiceTable choices;  // the algorithms of collectives

  bool groups_context_open = false;  // world_context(ContextKind::groups)

  std::uint64_t request_arrays = 0;  // taken so far: what a request named twice is found by

  // Requests freed by the program while active, kept until their operation is done. They are looked at when their number has
  // doubled since they were last, so that each costs a constant, and at the latest in MPI_Finalize.
  void bury(Request* request);  // takes the program's reference
  void sweep_buried();          // drops those that are done
  bool freed_sends_done() const;
  void drop_buried(Request* request);  // this one, which is done

 private:
  [[gnu::cold]] Marked enter_among_several(const char* function);
  [[gnu::cold]] Marked enter_in_turn(const char* function);
  [[noreturn]] void end_for_two_at_once(const char* function, const char* other);
  std::atomic<const void*> inside_ = nullptr;  // the thread that is inside an MPI call, where several call
  const char* inside_function_ = nullptr;
  bool in_order_ = false;     // there are several threads, and the engine orders them
  bool order_is_due_ = false; // it does so from the next call on
  bool unprotected_ = false;  // it does not order all that call
  std::string explanation_;
  Comm* blamed_ = nullptr;
  void drop_buried_at(std::size_t index);
  static constexpr std::size_t sweep_at_least = 64;
  std::vector<Request*> buried_;
  std::size_t sweep_at_ = sweep_at_least;
};

}  // namespace hf::mpi
