#include "mpi/coll/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "mpi/coll/scratch.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t block_bytes = 8192;

template <class T>
void drop(Object* object) {
  release(static_cast<T*>(object));
}

int count_nodes(const engine::JobMap& job, std::span<const Rank> first, std::span<const Rank> more) {
  if (job.node_count == 1) return 1;
  std::vector<bool> seen(static_cast<std::size_t>(job.node_count));
  int nodes = 0;
  for (const auto ranks : {first, more}) {
    for (const Rank rank : ranks) {
      auto one = seen[static_cast<std::size_t>(job.node_of[static_cast<std::size_t>(rank.value)].value)];
      nodes += one ? 0 : 1;
      one = true;
    }
  }
  return nodes;
}

}  // namespace

struct Schedule::Block {
  Block* next;
  std::size_t bytes;
};

struct Schedule::Step {
  enum class Kind : std::uint8_t { send, recv, wait, settle, copy, reduce, call };
  explicit Step(Kind k) : kind(k) {}
  Kind kind;
  bool started = false;
  Step* next = nullptr;
  Step* next_operation = nullptr;
};

namespace {

using Step = Schedule::Step;

struct SendStep final : Step {
  SendStep() : Step(Kind::send) {}
  Rank peer;
  Sequence number;
  Part part;
  engine::SendOperation op;
};

struct RecvStep final : Step {
  RecvStep() : Step(Kind::recv) {}
  Rank peer;
  Sequence number;
  Part part;
  engine::RecvOperation op;
};

struct WaitStep final : Step {
  WaitStep() : Step(Kind::wait) {}
  Step* what = nullptr;
};

struct CopyStep final : Step {
  CopyStep() : Step(Kind::copy) {}
  Part from, to;
};

struct ReduceStep final : Step {
  ReduceStep() : Step(Kind::reduce) {}
  const Op* op = nullptr;
  const void* in = nullptr;
  void* inout = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
};

struct CallStep final : Step {
  CallStep() : Step(Kind::call) {}
  void (*function)(Schedule&, void*) = nullptr;
  void* argument = nullptr;
};

bool done(const Step& step) {
  if (!step.started) return false;
  return step.kind == Step::Kind::send ? static_cast<const SendStep&>(step).op.done()
                                       : static_cast<const RecvStep&>(step).op.done();
}

}  // namespace

Schedule::Schedule(Process& p, Comm& comm, const char* name, const Group& members, Context context)
    : p_(p),
      comm_(retain(&comm)),
      group_(retain(const_cast<Group*>(&members))),
      first_members_(members.members),
      self_(members.self),
      context_(context),
      name_(name) {}

int Schedule::nodes() {
  const auto& all = comm_->group->members;
  const bool whole = first_members_.data() == all.data() && first_members_.size() == all.size() && more_members_.empty();
  if (!whole) return count_nodes(p_.engine->job(), first_members_, more_members_);
  if (comm_->nodes == 0) comm_->nodes = count_nodes(p_.engine->job(), first_members_, {});
  return comm_->nodes;
}

Algorithm Schedule::choose(Collective collective, std::size_t bytes) {
  return p_.choices.choose(collective, p_.engine->job().logging, nodes(), size(), bytes);
}

Schedule::~Schedule() {
  if (started_ && !complete_) p_.engine->remove(*this);
  withdraw_all();
  for (Temporary* t = temporaries_; t; t = t->next) scratch_give(t->block, t->bytes);
  for (Kept* k = kept_; k; k = k->next) k->drop(k->object);
  while (blocks_) {
    Block* block = blocks_;
    blocks_ = block->next;
    scratch_give(reinterpret_cast<std::byte*>(block), block->bytes);
  }
  release(const_cast<Group*>(group_));
  release(comm_);
}

void Schedule::among(const Group& members) { among(members.members, {}, members.self); }

void Schedule::among(std::span<const Rank> first, std::span<const Rank> second, int self) {
  first_members_ = first;
  more_members_ = second;
  self_ = self;
}

void Schedule::among_both_groups() {
  const auto &local = comm_->group->members, &remote = comm_->remote->members;
  if (comm_->is_lower()) among(local, remote, comm_->rank());
  else among(remote, local, comm_->remote->size() + comm_->rank());
}

// ---- memory

void* Schedule::allocate(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (bytes > left_) {
    const std::size_t size = std::max(block_bytes, bytes + sizeof(Block) + 16);
    std::byte* memory = scratch_take(size);
    if (!memory) p_.engine->abort(1, fmt::format("MPI_{}: no memory for its steps ({} bytes)", name_, size));
    auto* block = new (memory) Block{blocks_, size};
    blocks_ = block;
    constexpr std::size_t header = (sizeof(Block) + 15) & ~std::size_t{15};
    free_ = memory + header;
    left_ = size - header;
  }
  void* taken = free_;
  free_ += bytes;
  left_ -= bytes;
  return taken;
}

std::byte* Schedule::temporary(std::size_t bytes) {
  std::byte* block = scratch_take(bytes);
  if (!block) {
    if (at_once_ && first_operation_) {
      p_.engine->abort(1, fmt::format("MPI_{}: no memory for a temporary buffer of {} bytes", name_, bytes));
    }
    at_once_ = false;
    refused_bytes_ = std::max(refused_bytes_, bytes);
    return nullptr;
  }
  temporaries_ = new (allocate(sizeof(Temporary))) Temporary{block, bytes, temporaries_};
  return block;
}

std::byte* Schedule::temporary(Count count, const Datatype& type) {
  if (count <= 0) return temporary(1);
  const Count stride = (count - 1) * type.extent;
  const Count low = type.true_lb + std::min<Count>(0, stride);
  const Count high = type.true_lb + type.true_extent + std::max<Count>(0, stride);
  std::byte* block = temporary(static_cast<std::size_t>(std::max<Count>(1, high - low)));
  return block ? block - low : nullptr;
}

void Schedule::keep(Datatype& type) {
  if (type.predefined) return;
  kept_ = new (allocate(sizeof(Kept))) Kept{retain(&type), kept_, drop<Datatype>};
}

void Schedule::keep(Op& op) {
  if (op.predefined) return;
  kept_ = new (allocate(sizeof(Kept))) Kept{retain(&op), kept_, drop<Op>};
}

void Schedule::keep(Comm& comm) {
  kept_ = new (allocate(sizeof(Kept))) Kept{retain(&comm), kept_, drop<Comm>};
}

// ---- making the list

void Schedule::append(Step* step) {
  (last_ ? last_->next : first_) = step;
  last_ = step;
}

Step* Schedule::append_operation(Step* step) {
  (last_operation_ ? last_operation_->next_operation : first_operation_) = step;
  last_operation_ = step;
  if (!open_) open_ = step;
  if (at_once_) run_step(*step);
  else append(step);
  return step;
}

Step* Schedule::send(int peer, const Part& part) {
  auto* step = new (allocate(sizeof(SendStep))) SendStep;
  step->peer = member(peer);
  step->number = p_.engine->reserve_send(context_, step->peer);
  step->part = part;
  return append_operation(step);
}

Step* Schedule::recv(int peer, const Part& part) {
  auto* step = new (allocate(sizeof(RecvStep))) RecvStep;
  step->peer = member(peer);
  step->number = p_.engine->reserve_recv(context_, step->peer);
  step->part = part;
  return append_operation(step);
}

void Schedule::wait(Step* what) {
  if (!what) return;
  if (at_once_) {
    WaitStep step;
    step.what = what;
    return finish(step);
  }
  auto* step = new (allocate(sizeof(WaitStep))) WaitStep;
  step->what = what;
  append(step);
}

void Schedule::settle() {
  if (!last_operation_) return;
  if (at_once_) {
    Step step(Step::Kind::settle);
    return finish(step);
  }
  append(new (allocate(sizeof(Step))) Step(Step::Kind::settle));
}

void Schedule::copy(const Part& from, const Part& to) {
  if (from.bytes != to.bytes) mismatch_ = {true, true, p_.engine->job().self.value, to.bytes, from.bytes};
  const std::size_t bytes = std::min(from.bytes, to.bytes);
  if (bytes == 0) return;
  if (at_once_) return copy_part(from.slice(0, bytes), to.slice(0, bytes));
  auto* step = new (allocate(sizeof(CopyStep))) CopyStep;
  step->from = from.slice(0, bytes);
  step->to = to.slice(0, bytes);
  append(step);
}

void Schedule::reduce(const Op& op, const void* in, void* inout, Count count, Datatype& type) {
  if (count == 0) return;
  if (at_once_) return apply_op(op, in, inout, count, type);
  auto* step = new (allocate(sizeof(ReduceStep))) ReduceStep;
  step->op = &op;
  step->in = in;
  step->inout = inout;
  step->count = count;
  step->type = &type;
  append(step);
}

void Schedule::add_call(void (*function)(Schedule&, void*), void* argument) {
  if (at_once_) return function(*this, argument);
  auto* step = new (allocate(sizeof(CallStep))) CallStep;
  step->function = function;
  step->argument = argument;
  append(step);
}

void Schedule::finish(Step& step) {
  p_.engine->wait([this, &step] { return run_step(step); });
}

// ---- running it

int Schedule::start() {
  if (refused_bytes_) {
    complete_ = true;
    return p_.explain(err_no_mem, fmt::format("MPI_{}: no memory for a temporary buffer of {} bytes", name_, refused_bytes_));
  }
  started_ = true;
  next_ = first_;
  open_ = first_operation_;
  if (!progress()) p_.engine->add(*this);
  return success;
}

int Schedule::restart() {
  if (started_ || complete_) {
    for (Step* step = first_operation_; step; step = step->next_operation) {
      step->started = false;
      if (step->kind == Step::Kind::send) {
        auto& s = static_cast<SendStep&>(*step);
        s.op = {};
        s.number = p_.engine->reserve_send(context_, s.peer);
      } else {
        auto& r = static_cast<RecvStep&>(*step);
        r.op = {};
        r.number = p_.engine->reserve_recv(context_, r.peer);
      }
    }
    if (!mismatch_.listed) mismatch_ = {};
    complete_ = false;
  }
  return start();
}

int Schedule::run() {
  if (refused_bytes_) return start();
  next_ = first_;
  open_ = first_operation_;
  if (!progress()) p_.engine->wait([this] { return progress(); });
  return error();
}

bool Schedule::progress() {
  if (complete_) return true;
  if (running_) return false;  // from within one of its own steps
  running_ = true;
  while (next_ && run_step(*next_)) next_ = next_->next;
  pass_done();
  running_ = false;
  complete_ = !next_ && !open_;
  if (complete_) withdraw_all();
  return complete_;
}

void Schedule::withdraw(Step& step) {
  if (step.kind == Step::Kind::send) p_.engine->withdraw(static_cast<SendStep&>(step).op);
}

void Schedule::withdraw_all() {
  if (!std::exchange(exposed_, false)) return;
  for (Step* step = first_operation_; step; step = step->next_operation) withdraw(*step);
}

void Schedule::pass_done() {
  for (; open_ && done(*open_); open_ = open_->next_operation) note_received(*open_);
}

bool Schedule::run_step(Step& step) {
  switch (step.kind) {
    case Step::Kind::send: {
      auto& s = static_cast<SendStep&>(step);
      s.started = true;
      s.op.keeps_buffer = true;
      p_.engine->send_numbered(s.op, context_, s.peer, s.number, s.part.source());
      exposed_ |= static_cast<bool>(s.op.exposure);
      return true;
    }
    case Step::Kind::recv: {
      auto& r = static_cast<RecvStep&>(step);
      r.started = true;
      p_.engine->recv_numbered(r.op, context_, r.peer, r.number, r.part.sink());
      return true;
    }
    case Step::Kind::wait:
      if (!done(*static_cast<WaitStep&>(step).what)) return false;
      if (exposed_) withdraw(*static_cast<WaitStep&>(step).what);
      return true;
    case Step::Kind::settle:  // the operations behind it in the list have not been started
      pass_done();
      if (open_ && open_->started) return false;
      withdraw_all();
      return true;
    case Step::Kind::copy:
      copy_part(static_cast<CopyStep&>(step).from, static_cast<CopyStep&>(step).to);
      return true;
    case Step::Kind::reduce: {
      auto& r = static_cast<ReduceStep&>(step);
      apply_op(*r.op, r.in, r.inout, r.count, *r.type);
      return true;
    }
    case Step::Kind::call: {
      auto& c = static_cast<CallStep&>(step);
      c.function(*this, c.argument);
      return true;
    }
  }
  return true;
}

// A message of another length than the program's arguments promised here: they differ between the ranks.
void Schedule::note_received(const Step& step) {
  if (step.kind != Step::Kind::recv || mismatch_.wrong) return;
  const auto& r = static_cast<const RecvStep&>(step);
  if (r.op.bytes == r.part.bytes) return;
  mismatch_ = {true, false, r.peer.value, r.part.bytes, r.op.bytes};
}

int Schedule::error() {
  if (!mismatch_.wrong) return success;
  return p_.explain(err_truncate, fmt::format("MPI_{}: rank {} of the job sent {} bytes where the arguments here expect {}: "
                                              "counts or types differ between the ranks",
                                              name_, mismatch_.peer, mismatch_.got, mismatch_.expected));
}

}  // namespace hf::mpi
