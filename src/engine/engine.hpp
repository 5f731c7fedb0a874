// The engine of one rank: joins matching, message logging and replay to the rails, the clock and the agent.
// One object per process, made by MPI_Init or the first MPI_Session_init. Not thread-safe: one thread at a time calls MPI (SERIALIZED).
//
// Ranks are job-wide numbers everywhere in this interface; communicator ranks are the business of mpi/.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/operation.hpp"
#include "engine/reached.hpp"
#include "segment/control.hpp"
#include "segment/waiting.hpp"
#include "wire/collective_rule.hpp"

namespace hf::engine {

struct JobMap {
  Rank self{};
  int rank_count = 1;
  NodeId node{};                 // of this rank, in the original map
  std::vector<NodeId> node_of;   // by job-wide rank; the original map: never changes (design rule 1)
  int app_number = 0;
  int node_count = 1;
  bool logging = false;          // protocol pessimist or optimist: determinants
  bool keeps_payloads = false;   // logging, with a sender log
  std::vector<wire::CollectiveRule> collective_rules;  // given by the user; not checked
  std::string node_name;         // of `node`; empty without a launcher
  bool orders_threads = false;   // whatever level of thread support the program asks for
};

class EngineImpl;

// The program's MPI calls so far; `published` is what others see of it. From `look_at` on a call has more to do than to be counted.
struct CallCounter {
  std::uint64_t number = 0;
  std::uint64_t* published = nullptr;
  std::uint64_t look_at = UINT64_MAX;
};

class Engine {
 public:
  // Joins the job named by the environment; without a launcher a job of one rank. An error text is for the user.
  static Result<std::unique_ptr<Engine>> join();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const JobMap& job() const;

  // ---- every MPI call of the program begins here, once (counts the call; fault injection)
  void enter_call() {
    segment::store_relaxed(*calls_->published, ++calls_->number);
    if (calls_->number >= calls_->look_at) [[unlikely]] look_at_call();
  }
  std::uint64_t call_number() const { return calls_->number; }
  // A second thread calls MPI, for the first time and in `function`: what the threads do in which order is not recorded, so
  // that this rank's death ends the job from now on, which the user is told. Does not return while this is a replay.
  void declare_unprotected(std::string_view function);
  bool waits() const;  // a thread is in wait()

  // ---- several threads that call in turn (docs/threads.md)
  // The order of threads is recorded and replayed, once there are several, if it can be. `several` is called when they are; false: not before
  // order_threads_now. `may_give_up`: the program may have asked for more than it uses; the order matters once a second thread has called.
  void order_threads(bool may_give_up, bool (*several)(void* self), void* self);
  void leave_threads_unordered();  // instead
  void order_threads_now();
  // Then each call of MPI that is not one inside another is between these. await_turn waits while the replay has others to come first: true, when the
  // run before made this call. enter_in_turn: only this thread uses the engine until leave_turn, but while it waits; false: the thread is one
  // whose turns are not recorded.
  bool await_turn(const char* function);
  bool enter_in_turn();
  void leave_turn();
  // Around a function of the program that is called inside of them; a call inside that function is between enter_nested and leave_turn.
  int go_out();
  void come_back(int depth);  // what go_out returned
  void enter_nested();

  // ---- contexts. A frame for a context that is not open is held; for a closed one dropped.
  void open_context(Context context);
  void close_context(Context context);
  std::uint64_t next_context_creation();  // this process's n-th creation, from 0: for naming contexts

  // ---- point to point, tag-matched. send and recv never block; the operation may be complete on return. An operation is new, or
  // assigned a new one, each time. Inline, so that what is known here is stored once, in the operation.
  void send(SendOperation& op, Context context, Rank destination, MessageTag tag, const Source& source, SendMode mode) {
    op.destination = destination;
    op.context = context;
    op.tag = tag;
    op.source = source;
    op.mode = mode;
    send_next(op);
  }
  void recv(RecvOperation& op, Context context, Rank source, MessageTag tag, const Sink& sink) {
    op.context = context;
    op.source = source;
    op.tag = tag;
    op.sink = sink;
    post(op);
  }
  // The program takes back a buffer that it had left to a complete operation (SendOperation::keeps_buffer).
  void withdraw(SendOperation& op) {
    if (op.exposure) withdraw_exposed(op);
  }
  // As MPI_Probe: waits until it finds one. MPI_Iprobe is iprobe, which is a recorded test (design rule 4).
  void probe_wait(Context context, Rank source, MessageTag tag, ProbeResult& result);
  bool iprobe(Context context, Rank source, MessageTag tag, ProbeResult& result);
  void mprobe_wait(Context context, Rank source, MessageTag tag, MatchedMessage& message);
  bool improbe(Context context, Rank source, MessageTag tag, MatchedMessage& message);
  void recv_matched(RecvOperation& op, const MatchedMessage& message, const Sink& sink);
  // Asks a pending receive to be withdrawn; the outcome is recorded. True: op is complete with cancelled set.
  bool cancel(RecvOperation& op);
  // A synchronous send completes without being matched, as a standard one does; `cancelled`: nobody will receive it.
  void complete_unmatched(SendOperation& op);

  // ---- numbered messages, for collectives: both sides reserve when the collective is called, in the same order,
  // and the receive takes exactly the message of that number. Own contexts only (never mixed with tag-matched).
  Sequence reserve_send(Context context, Rank destination);
  Sequence reserve_recv(Context context, Rank source);
  void send_numbered(SendOperation& op, Context context, Rank destination, Sequence number, const Source& source);
  void recv_numbered(RecvOperation& op, Context context, Rank source, Sequence number, const Sink& sink);
  // Both at once: the number is reserved and used. Inline as send and recv, whose way they go.
  void send_next_numbered(SendOperation& op, Context context, Rank destination, const Source& source) {
    op.destination = destination;
    op.context = context;
    op.source = source;
    op.numbered = true;
    send_next(op);
  }
  void recv_next_numbered(RecvOperation& op, Context context, Rank source, const Sink& sink) {
    op.context = context;
    op.source = source;
    op.numbered = true;
    op.sink = sink;
    post_next_numbered(op);
  }

  // ---- completion tests that are non-deterministic (Test*, Waitany, Waitsome, Request_get_status, Iprobe ...).
  // begin_test says what to do: `free`: look at the requests, then call end_test with what was found complete, in the
  // order returned (empty: nothing). `nothing`: return that nothing is complete. `exactly`: wait for those indices
  // (waits for each by wait()), and return them in that order. end_test is called only after `free`.
  struct TestPlan {
    enum Kind { free, nothing, exactly } kind = free;
    std::span<const std::int32_t> which;  // valid until the next begin_test
  };
  TestPlan begin_test();
  void end_test(std::span<const std::int32_t> completed);
  // Waitany and Waitsome, which cannot find nothing: call begin_test once, loop while free, end_test once.

  double wtime();         // recorded
  double time_of_another_thread();  // of one that calls meanwhile, as other threads may do
  static double time_before_join();  // with the same origin

  // For tests: which incarnation this is, and what it has written to its event stream (docs/events.md).
  Incarnation incarnation() const;
  std::vector<std::byte> logged_events() const;

  // ---- progress
  void progress();  // one pass over rails, agent and schedules; never blocks
  // Waits until `done` says so: spins, yields, then sleeps. done is called after each pass; `whom`, which says whose doing is awaited
  // (segment/waiting.hpp), when the wait has become long.
  template <class Done, class Whom>
  void wait(Done&& done, Whom&& whom) {
    if (done()) return;
    struct Both {
      std::remove_reference_t<Done>& done;
      std::remove_reference_t<Whom>& whom;
    } both{done, whom};
    wait_erased([](void* b) -> bool { return static_cast<Both*>(b)->done(); },
                [](void* b) -> Rank { return static_cast<Both*>(b)->whom(); }, &both);
  }
  // Until an operation is complete, which has this peer. What stands behind its message in a ring is left there, for receives that are posted next to
  // take without a copy.
  void wait_for(const bool& complete, const Rank& peer) {
    if (!complete) wait_longer_for(complete, peer);
  }
  void add(Progressable& schedule);     // until its progress() returns true
  void remove(Progressable& schedule);

  // ---- checkpoints (design rule 6; docs/segments.md). `reached`: how far the state of this rank goes in the log of each sender, by rank;
  // a checkpoint taken now keeps it. `cover`: that checkpoint is complete, and no older one will be used: the senders forget
  // what stands before. A rank that begins from another state than that ends the job when it asks them for it.
  std::vector<Reached> reached();
  void cover(std::span<const Reached> checkpoint);

  // ---- life cycle and the outside
  void mark_initialized(bool world);  // the process has joined, or has again, or is in MPI_Init
  // Flushes what peers may still need from this process: it calls MPI no more, or not before join_again, which goes on where it was. An error: threads
  // were ordered, and are no longer.
  void finalize();
  Result<> join_again();
  [[noreturn]] void abort(int exit_code, std::string_view reason);
  void note(std::string_view text);  // one line for the user, printed once by the launcher

 private:
  Engine();
  void send_next(SendOperation& op);
  void post(RecvOperation& op);
  void post_next_numbered(RecvOperation& op);
  void wait_longer_for(const bool& complete, const Rank& peer);
  void withdraw_exposed(SendOperation& op);
  void look_at_call();
  void wait_erased(bool (*done)(void*), Rank (*whom)(void*), void* self);
  std::unique_ptr<EngineImpl> impl_;
  CallCounter* calls_;  // impl_'s
};

}  // namespace hf::engine
