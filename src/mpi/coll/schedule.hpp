// A collective is a schedule: a list of steps made when it is called, run in order as far as possible whenever the engine
// progresses. All message numbers are reserved while the list is made (design rule 1), so that they do not depend on when
// a step runs: both sides of a pair put the messages between them into their lists in the same order. What the list
// contains is a function of the call's arguments and the communicator alone; no step takes from any source.
//
// Sends and receives are started in order and complete by themselves; `wait` holds the list until one is done, `settle`
// until all are; the schedule is complete when the list is at its end and every send and receive is done. Reductions and
// copies are steps, so that their order is fixed as well.
//
// A blocking call lists its steps `at_once`: each runs when it is listed, in the same order and with the same numbers, and only what
// is still being sent and received is kept. That is what a call of a few bytes costs beside its messages, so these ways are short.
//
// The schedule owns its steps and temporary buffers and keeps the objects it works with (communicator, types, operation)
// alive. It must stay in place from start to completion.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "base/float_mode.hpp"
#include "core/collectives/choice.hpp"
#include "engine/engine.hpp"
#include "mpi/coll/part.hpp"
#include "mpi/comm.hpp"
#include "mpi/error.hpp"
#include "mpi/op.hpp"

namespace hf::mpi {

using core::collectives::Algorithm;
using core::collectives::Collective;

class Process;

class Schedule final : public engine::Progressable {
 public:
  struct Step;
  // `members`: whom peers of send and recv are ranks of; the messages go through `context`, comm's collective one if not
  // said.
  Schedule(Process& p, Comm& comm, const char* name, const Group& members, Context context)
      : p_(p),
        comm_(retain(&comm)),
        group_(retain(const_cast<Group*>(&members))),
        first_members_(members.members),
        self_(members.self),
        context_(context),
        name_(name) {}
  Schedule(Process& p, Comm& comm, const char* name, const Group& members)
      : Schedule(p, comm, name, members, comm.collective) {}
  Schedule(Process& p, Comm& comm, const char* name) : Schedule(p, comm, name, *comm.group) {}
  ~Schedule() override {
    if (started_ || exposed_ || temporaries_ || kept_ || blocks_) clean_up();
    release(const_cast<Group*>(group_));
    release(comm_);
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Before the first step.
  void at_once() { at_once_ = true; }

  Process& process() { return p_; }
  Comm& comm() { return *comm_; }
  // Those whose ranks are the peers of the steps listed from here on: the members of a group; two runs of ranks, one behind the
  // other, of which this process is number `self`; both groups of an intercommunicator, the lower one first. What is passed
  // lives as long as the schedule or its communicator.
  void among(const Group& members);
  void among(std::span<const Rank> first, std::span<const Rank> second, int self);
  void among_both_groups();
  int rank() const { return self_; }
  int size() const { return static_cast<int>(first_members_.size() + more_members_.size()); }

  // The algorithm for a collective of these bytes among those whose ranks are peers now. A communicator remembers its last choices:
  // they depend on nothing that changes (core/collectives/choice.hpp).
  Algorithm choose(Collective collective, std::size_t bytes) {
    if (!among_whole_group()) [[unlikely]] return look_up(collective, bytes).algorithm;
    core::collectives::Choice& known = comm_->choices[static_cast<std::size_t>(collective)];
    if (!known.holds_for(bytes)) [[unlikely]] known = look_up(collective, bytes);
    return known.algorithm;
  }

  // ---- the steps, in the order in which they run. send and recv give null for what is done already.
  Step* send(int peer, const Part& part) { return at_once_ ? send_now(member(peer), part) : list_send(member(peer), part); }
  Step* recv(int peer, const Part& part) { return at_once_ ? recv_now(member(peer), part) : list_recv(member(peer), part); }
  void wait(Step* step) {  // null: no wait
    if (!step) return;
    if (at_once_) wait_now(*step);
    else list_wait(*step);
  }
  void settle();  // waits for all sends and receives listed before
  void copy(const Part& from, const Part& to) {
    if (from.bytes != to.bytes) [[unlikely]] note_copied(from.bytes, to.bytes);
    if (at_once_ && from.bytes == to.bytes) copy_part(from, to);
    else list_copy(from, to);
  }
  // inout[i] = in[i] op inout[i]
  void reduce(const Op& op, const void* in, void* inout, Count count, Datatype& type) {
    if (at_once_) apply_op(op, in, inout, count, type);
    else list_reduce(op, in, inout, count, type);
  }
  // The program's function would run in whatever call makes progress, which is another one in a replay: with what it does there (calls of MPI,
  // output, locks), the rest of the program would differ. Where it is so, its steps come behind rest_at_end.
  bool defers(const Op& op) const;
  // The steps listed from here on, none of which sends or receives, run in finish(). What is listed before is waited for.
  void rest_at_end();
  // Calls function(schedule, argument); the argument is kept in place.
  template <auto function, class Argument>
  void call(const Argument& argument) {
    static_assert(std::is_trivially_destructible_v<Argument>);
    auto* kept = new (allocate(sizeof(Argument))) Argument(argument);
    add_call([](Schedule& s, void* what) { function(s, *static_cast<Argument*>(what)); }, kept);
  }

  // ---- memory until the schedule ends
  // Small arrays that the making of the list needs, zeroed.
  template <class T>
  T* array(int n) {
    static_assert(std::is_trivially_destructible_v<T>);
    auto* first = static_cast<T*>(allocate(sizeof(T) * static_cast<std::size_t>(n)));
    for (int i = 0; i < n; ++i) new (first + i) T{};
    return first;
  }
  // Temporary buffers. Without memory the schedule is marked, and its start gives MPI_ERR_NO_MEM; where steps have run already
  // (at_once), or a protocol logs, the job ends.
  std::byte* temporary(std::size_t bytes) {
    return bytes <= small_bytes ? static_cast<std::byte*>(allocate(bytes)) : large_temporary(bytes);
  }
  // Room for `count` elements; the address is that of element 0, as programs pass it.
  std::byte* temporary(Count count, const Datatype& type) {
    return type.contiguous ? temporary(static_cast<std::size_t>(count * type.size)) : spread_temporary(count, type);
  }
  void keep(Datatype& type) {
    if (!type.predefined) keep_object(type);
  }
  void keep(Op& op) {
    if (!op.predefined) keep_object(op);
  }
  void keep(Comm& comm) { keep_object(comm); }

  // ---- running it
  int start();     // reports what went wrong while it was made; runs what can run
  int restart();   // complete, or started never: the same steps once more, with message numbers reserved anew
  bool progress() override;
  bool complete() const { return complete_; }
  Rank awaits() const;  // as Request::awaits
  int run() {      // start and wait until it is complete; its error code
    if (!at_once_) [[unlikely]] return run_list();
    if (open_ || exposed_) settle_now();
    complete_ = true;
    return error();
  }
  // Complete only, when the program is told so, perhaps several times: runs what was left to the end, once; the code, with its explanation.
  int finish() {
    if (next_) [[unlikely]] run_rest();
    return error();
  }

 private:
  int error() { return mismatch_.wrong ? explain_mismatch() : success; }
  void run_rest();
  struct Block;
  static constexpr std::size_t own_bytes = 1024;  // the steps of a call among few ranks
  static constexpr std::size_t small_bytes = 256;  // a temporary buffer among the steps
  struct Kept {
    Object* object;
    Kept* next;
    void (*drop)(Object*);
  };
  Rank member(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < first_members_.size() ? first_members_[at] : more_members_[at - first_members_.size()];
  }
  bool among_whole_group() const {
    const auto& all = comm_->group->members;
    return first_members_.data() == all.data() && first_members_.size() == all.size() && more_members_.empty();
  }
  core::collectives::Choice look_up(Collective collective, std::size_t bytes);
  int nodes();
  // The last piece may be given back.
  void* allocate(std::size_t bytes) {
    bytes = padded(bytes);
    if (bytes > left_) [[unlikely]] add_block(bytes);
    void* taken = free_;
    free_ += bytes;
    left_ -= bytes;
    return taken;
  }
  void give_back(std::size_t bytes) {
    free_ -= padded(bytes);
    left_ += padded(bytes);
  }
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }
  void add_block(std::size_t bytes);
  std::byte* large_temporary(std::size_t bytes);
  std::byte* spread_temporary(Count count, const Datatype& type);
  template <class T>
  void keep_object(T& object);
  Step* send_now(Rank peer, const Part& part);
  Step* recv_now(Rank peer, const Part& part);
  void wait_now(Step& step);
  int run_list();
  void clean_up();
  void settle_now();
  void append(Step* step);
  void append_operation(Step* step);
  Step* list_send(Rank peer, const Part& part);
  Step* list_recv(Rank peer, const Part& part);
  void list_wait(Step& step);
  void list_copy(const Part& from, const Part& to);
  void list_reduce(const Op& op, const void* in, void* inout, Count count, Datatype& type);
  void add_call(void (*function)(Schedule&, void*), void* argument);
  void note_copied(std::size_t from, std::size_t to);
  int explain_mismatch();
  bool run_step(Step& step);
  void pass_done();
  void withdraw(Step& step);
  void withdraw_all();
  void note_received(const Step& step);

  Process& p_;
  Comm* comm_;           // one reference
  const Group* group_;   // one reference; at first the members
  std::span<const Rank> first_members_, more_members_;
  int self_;             // this process among them
  Context context_;
  const char* name_;     // of the MPI function, without MPI_
  Step* first_ = nullptr;
  Step* last_ = nullptr;
  Step* next_ = nullptr;          // to run
  Step* first_operation_ = nullptr;
  Step* last_operation_ = nullptr;
  Step* open_ = nullptr;          // first operation not known to be done
  alignas(16) std::byte own_[own_bytes];  // before the first block
  Block* blocks_ = nullptr;       // newest first
  std::size_t left_ = sizeof(own_);  // bytes free in the newest block
  std::byte* free_ = own_;
  Kept* kept_ = nullptr;
  struct Temporary {
    std::byte* block;
    std::size_t bytes;
    Temporary* next;
  };
  Temporary* temporaries_ = nullptr;
  std::size_t refused_bytes_ = 0;  // a temporary buffer that could not be had
  FloatMode float_mode_;  // of the call that started it: sums do not depend on where they are made
  bool at_once_ = false;
  bool begun_ = false;  // at_once: something has been sent or received
  bool started_ = false;
  bool running_ = false;
  bool complete_ = false;
  bool exposed_ = false;  // a buffer being sent may be read by its receiver until it is withdrawn
  struct {
    bool wrong = false;
    bool listed = false;  // found while the list was made: the arguments do not fit each other
    int peer = 0;
    std::size_t expected = 0, got = 0;
  } mismatch_;
};

}  // namespace hf::mpi
