// The steps of a schedule, in its memory. Those that run at once are made only for what is sent and received.
#pragma once
#include "mpi/coll/schedule.hpp"

namespace hf::mpi {

struct Schedule::Step {
  enum class Kind : std::uint8_t { send, recv, wait, settle, copy, reduce, call, rest };
  explicit Step(Kind k) : kind(k) {}
  Kind kind;
  bool started = false;
  Step* next = nullptr;
  Step* next_operation = nullptr;
};

// `part` is where the operation finds its bytes when they are not contiguous; of a step that runs at once it is not set otherwise.
struct SendStep final : Schedule::Step {
  SendStep() : Step(Kind::send) {}
  Rank peer;
  Sequence number;
  Part part;
  engine::SendOperation op;
};

struct RecvStep final : Schedule::Step {
  RecvStep() : Step(Kind::recv) {}
  Rank peer;
  Sequence number;
  Part part;
  engine::RecvOperation op;
};

struct WaitStep final : Schedule::Step {
  WaitStep() : Step(Kind::wait) {}
  Step* what = nullptr;
};

struct CopyStep final : Schedule::Step {
  CopyStep() : Step(Kind::copy) {}
  Part from, to;
};

struct ReduceStep final : Schedule::Step {
  ReduceStep() : Step(Kind::reduce) {}
  const Op* op = nullptr;
  const void* in = nullptr;
  void* inout = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
};

struct CallStep final : Schedule::Step {
  CallStep() : Step(Kind::call) {}
  void (*function)(Schedule&, void*) = nullptr;
  void* argument = nullptr;
};

// Of a send or receive.
inline const bool& completion_of(const Schedule::Step& step) {
  return step.kind == Schedule::Step::Kind::send ? static_cast<const SendStep&>(step).op.complete
                                                 : static_cast<const RecvStep&>(step).op.complete;
}
inline const Rank& peer_of(const Schedule::Step& step) {
  return step.kind == Schedule::Step::Kind::send ? static_cast<const SendStep&>(step).op.destination
                                                 : static_cast<const RecvStep&>(step).op.source;
}

}  // namespace hf::mpi
