// Running a schedule that has been listed.
#include <fmt/format.h>

#include <utility>

#include "mpi/coll/step.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int Schedule::start() {
  if (refused_bytes_) {
    complete_ = true;
    return p_.explain(err_no_mem, fmt::format("MPI_{}: no memory for a temporary buffer of {} bytes", name_, refused_bytes_));
  }
  started_ = true;
  float_mode_ = FloatMode::current();
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

int Schedule::run_list() {
  if (refused_bytes_) return start();
  float_mode_ = FloatMode::current();
  next_ = first_;
  open_ = first_operation_;
  if (!progress()) p_.engine->wait([this] { return progress(); }, [this] { return awaits(); });
  return finish();
}

void Schedule::run_rest() {
  running_ = true;
  for (next_ = next_->next; next_; next_ = next_->next) run_step(*next_);
  running_ = false;
}

bool Schedule::progress() {
  if (complete_) return true;
  if (running_) return false;  // from within one of its own steps
  running_ = true;
  while (next_ && run_step(*next_)) next_ = next_->next;
  pass_done();
  running_ = false;
  complete_ = (!next_ || next_->kind == Step::Kind::rest) && !open_;
  if (complete_) withdraw_all();
  return complete_;
}

Rank Schedule::awaits() const {
  const Step* step = next_ && next_->kind == Step::Kind::wait ? static_cast<const WaitStep*>(next_)->what : open_;
  return step && step->started ? peer_of(*step) : segment::no_rank;
}

void Schedule::withdraw(Step& step) {
  if (step.kind == Step::Kind::send) p_.engine->withdraw(static_cast<SendStep&>(step).op);
}

void Schedule::withdraw_all() {
  if (!std::exchange(exposed_, false)) return;
  for (Step* step = first_operation_; step; step = step->next_operation) withdraw(*step);
}

void Schedule::pass_done() {
  for (; open_ && open_->started && completion_of(*open_); open_ = open_->next_operation) note_received(*open_);
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
      if (const Step& what = *static_cast<WaitStep&>(step).what; !what.started || !completion_of(what)) return false;
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
      const WithFloatMode as_when_called(float_mode_);
      apply_op(*r.op, r.in, r.inout, r.count, *r.type);
      return true;
    }
    case Step::Kind::call: {
      auto& c = static_cast<CallStep&>(step);
      c.function(*this, c.argument);
      return true;
    }
    case Step::Kind::rest:
      return false;
  }
  return true;
}

// A message of another length than the program's arguments promised here: they differ between the ranks.
void Schedule::note_received(const Step& step) {
  if (step.kind != Step::Kind::recv || mismatch_.wrong) return;
  const auto& r = static_cast<const RecvStep&>(step);
  if (r.op.bytes == r.op.sink.capacity) return;
  mismatch_ = {true, false, r.op.source.value, r.op.sink.capacity, r.op.bytes};
}

int Schedule::explain_mismatch() {
  return p_.explain(err_truncate, fmt::format("MPI_{}: rank {} of the job sent {} bytes where the arguments here expect {}: "
                                              "counts or types differ between the ranks",
                                              name_, mismatch_.peer, mismatch_.got, mismatch_.expected));
}

}  // namespace hf::mpi
