#include "mpi/coll/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "mpi/coll/scratch.hpp"
#include "mpi/coll/step.hpp"
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

int Schedule::nodes() {
  if (!among_whole_group()) return count_nodes(p_.engine->job(), first_members_, more_members_);
  if (comm_->nodes == 0) comm_->nodes = count_nodes(p_.engine->job(), first_members_, {});
  return comm_->nodes;
}

core::collectives::Choice Schedule::look_up(Collective collective, std::size_t bytes) {
  return p_.choices.look_up(collective, p_.engine->job().logging, nodes(), size(), bytes);
}

void Schedule::clean_up() {
  if (started_ && !complete_) p_.engine->remove(*this);
  withdraw_all();
  for (Temporary* t = temporaries_; t; t = t->next) scratch_give(t->block, t->bytes);
  for (Kept* k = kept_; k; k = k->next) k->drop(k->object);
  while (blocks_) {
    Block* block = blocks_;
    blocks_ = block->next;
    scratch_give(reinterpret_cast<std::byte*>(block), block->bytes);
  }
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

void Schedule::add_block(std::size_t bytes) {
  const std::size_t size = std::max(block_bytes, bytes + sizeof(Block) + 16);
  std::byte* memory = scratch_take(size);
  if (!memory) p_.engine->abort(1, fmt::format("MPI_{}: no memory for its steps ({} bytes)", name_, size));
  blocks_ = new (memory) Block{blocks_, size};
  free_ = memory + padded(sizeof(Block));
  left_ = size - padded(sizeof(Block));
}

std::byte* Schedule::large_temporary(std::size_t bytes) {
  std::byte* block = scratch_take(bytes);
  if (!block) {
    // An error would be another outcome than in a replay that has more memory.
    if ((at_once_ && begun_) || p_.engine->job().logging) {
      p_.engine->abort(1, fmt::format("MPI_{}: no memory for a temporary buffer of {} bytes", name_, bytes));
    }
    at_once_ = false;
    refused_bytes_ = std::max(refused_bytes_, bytes);
    return nullptr;
  }
  temporaries_ = new (allocate(sizeof(Temporary))) Temporary{block, bytes, temporaries_};
  return block;
}

// From the least to the greatest byte of the data, and of the extents: an operation of the program may assign whole elements.
std::byte* Schedule::spread_temporary(Count count, const Datatype& type) {
  if (count <= 0) return temporary(1);
  const Count stride = (count - 1) * type.extent;
  const Count low = std::min({type.true_lb, type.lb, type.lb + type.extent}) + std::min<Count>(0, stride);
  const Count high = std::max({type.true_lb + type.true_extent, type.lb, type.lb + type.extent}) + std::max<Count>(0, stride);
  std::byte* block = temporary(static_cast<std::size_t>(std::max<Count>(1, high - low)));
  return block ? block - low : nullptr;
}

template <class T>
void Schedule::keep_object(T& object) {
  kept_ = new (allocate(sizeof(Kept))) Kept{retain(&object), kept_, drop<T>};
}
template void Schedule::keep_object(Datatype&);
template void Schedule::keep_object(Op&);
template void Schedule::keep_object(Comm&);

// ---- at once

namespace {

// Where the bytes of a part are described for as long as the operation lasts.
const Part& lasting(const Part& part, Part& kept) {
  if (!part.type) return part;  // the operation has their address
  return kept = part;
}

}  // namespace

Schedule::Step* Schedule::send_now(Rank peer, const Part& part) {
  auto* step = new (allocate(sizeof(SendStep))) SendStep;
  begun_ = true;
  step->op.keeps_buffer = true;
  p_.engine->send_next_numbered(step->op, context_, peer, lasting(part, step->part).source());
  const bool exposed = static_cast<bool>(step->op.exposure);
  if (step->op.complete && !exposed) {
    give_back(sizeof(SendStep));
    return nullptr;
  }
  exposed_ |= exposed;
  append_operation(step);
  return step;
}

Schedule::Step* Schedule::recv_now(Rank peer, const Part& part) {
  auto* step = new (allocate(sizeof(RecvStep))) RecvStep;
  begun_ = true;
  p_.engine->recv_next_numbered(step->op, context_, peer, lasting(part, step->part).sink());
  if (step->op.complete) {
    note_received(*step);
    give_back(sizeof(RecvStep));
    return nullptr;
  }
  append_operation(step);
  return step;
}

void Schedule::wait_now(Step& step) {
  p_.engine->wait_for(completion_of(step), peer_of(step));
  if (exposed_) withdraw(step);
}

// Buffers are taken back when all is done: their readers may send what is waited for here.
void Schedule::settle_now() {
  for (; open_; open_ = open_->next_operation) {
    p_.engine->wait_for(completion_of(*open_), peer_of(*open_));
    note_received(*open_);
  }
  withdraw_all();
}

// ---- making the list

void Schedule::append(Step* step) {
  (last_ ? last_->next : first_) = step;
  last_ = step;
}

void Schedule::append_operation(Step* step) {
  (last_operation_ ? last_operation_->next_operation : first_operation_) = step;
  last_operation_ = step;
  if (!open_) open_ = step;
}

Schedule::Step* Schedule::list_send(Rank peer, const Part& part) {
  auto* step = new (allocate(sizeof(SendStep))) SendStep;
  step->peer = peer;
  step->number = p_.engine->reserve_send(context_, peer);
  step->part = part;
  append_operation(step);
  append(step);
  return step;
}

Schedule::Step* Schedule::list_recv(Rank peer, const Part& part) {
  auto* step = new (allocate(sizeof(RecvStep))) RecvStep;
  step->peer = peer;
  step->number = p_.engine->reserve_recv(context_, peer);
  step->part = part;
  append_operation(step);
  append(step);
  return step;
}

void Schedule::list_wait(Step& what) {
  auto* step = new (allocate(sizeof(WaitStep))) WaitStep;
  step->what = &what;
  append(step);
}

void Schedule::settle() {
  if (at_once_) return settle_now();
  if (last_operation_) append(new (allocate(sizeof(Step))) Step(Step::Kind::settle));
}

void Schedule::note_copied(std::size_t from, std::size_t to) {
  mismatch_ = {true, true, p_.engine->job().self.value, to, from};
}

void Schedule::list_copy(const Part& from, const Part& to) {
  const std::size_t bytes = std::min(from.bytes, to.bytes);
  if (bytes == 0) return;
  if (at_once_) return copy_part(from.slice(0, bytes), to.slice(0, bytes));
  auto* step = new (allocate(sizeof(CopyStep))) CopyStep;
  step->from = from.slice(0, bytes);
  step->to = to.slice(0, bytes);
  append(step);
}

void Schedule::list_reduce(const Op& op, const void* in, void* inout, Count count, Datatype& type) {
  if (count == 0) return;
  auto* step = new (allocate(sizeof(ReduceStep))) ReduceStep;
  step->op = &op;
  step->in = in;
  step->inout = inout;
  step->count = count;
  step->type = &type;
  append(step);
}

bool Schedule::defers(const Op& op) const { return !at_once_ && op.kind == Op::Kind::user && p_.engine->job().logging; }

void Schedule::rest_at_end() {
  settle();
  append(new (allocate(sizeof(Step))) Step(Step::Kind::rest));
}

void Schedule::add_call(void (*function)(Schedule&, void*), void* argument) {
  if (at_once_) return function(*this, argument);
  auto* step = new (allocate(sizeof(CallStep))) CallStep;
  step->function = function;
  step->argument = argument;
  append(step);
}

}  // namespace hf::mpi
