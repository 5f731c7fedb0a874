// Process: collectives. As src/mpi/coll/schedule.cpp and schedule_run.cpp, on numbered messages (src/engine/receive.cpp).
#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

namespace {

constexpr Context collective_context{8};

}  // namespace

Request* Process::icollective(Collective collective, int root, std::uint64_t value, SendMode mode) {
  Request& request = requests_.get();
  request.is_collective = true;
  request.source = self_;
  if (dead_) return &request;
  Call& call = calls_.emplace_back(Call{Schedule(collective, rank(), ranks(), root, value), mode, &request});
  for (Step& step : call.schedule.steps) reserve(step);
  run_collectives();
  return &request;
}

// What a message is called does not depend on when its step runs.
void Process::reserve(Step& step) {
  if (step.kind != Step::send && step.kind != Step::recv) return;
  const Rank peer(step.peer);
  step.name = step.kind == Step::send ? world_.checker().on_listed_send(life_, peer, collective_context)
                                      : world_.checker().on_listed_receive(life_, peer, collective_context);
  if (!HF_MUTATED(NUMBERED_WHEN_RUN)) take_number(step);
}

void Process::take_number(Step& step) {
  ContextPeer& with = context(collective_context).peers[Rank(step.peer)];
  Sequence& next = step.kind == Step::send ? with.next_send : with.next_recv;
  step.number = next;
  ++next;
}

// Whenever the program is in a call: each as far as it goes.
void Process::run_collectives() {
  if (HF_MUTATED(STEPS_STAND_IN_REPLAY) && replaying()) return;
  if (calls_.empty() || std::exchange(runs_collectives_, true)) return;
  for (auto call = calls_.begin(); call != calls_.end() && !dead_;) {
    call = run(*call) ? calls_.erase(call) : std::next(call);
  }
  runs_collectives_ = false;
}

// True: it is complete.
bool Process::run(Call& call) {
  Schedule& schedule = call.schedule;
  while (schedule.next < schedule.steps.size() && !dead_ && run_step(call, schedule.steps[schedule.next])) ++schedule.next;
  if (dead_ || schedule.next < schedule.steps.size()) return false;
  auto is_open = [](const Step& step) { return step.request && !step.request->complete; };
  if (std::ranges::any_of(schedule.steps, is_open)) return false;
  for (const Step& step : schedule.steps) {
    if (step.request) requests_.put(*step.request);
  }
  call.request->payload.value = schedule.slots[0];
  call.request->complete = true;
  return true;
}

bool Process::run_step(Call& call, Step& step) {
  Schedule& schedule = call.schedule;
  switch (step.kind) {
    case Step::send: return !point() && (send_step(call, step), true);
    case Step::recv: return recv_step(step), true;
    case Step::wait: return take_step(schedule, schedule.steps[step.slot]);
    case Step::settle:
      for (std::size_t i = 0; i < schedule.next; ++i) {
        if (Step& before = schedule.steps[i]; before.kind == Step::recv && !take_step(schedule, before)) return false;
      }
      return true;
    case Step::reduce: schedule.slots[0] = mix(schedule.slots[0], schedule.slots[step.slot]); return true;
  }
  return true;
}

void Process::send_step(Call& call, Step& step) {
  if (optimistic_) settle();
  if (dead_) return;
  if (HF_MUTATED(NUMBERED_WHEN_RUN)) take_number(step);
  Request& request = requests_.get();
  request.is_send = true;
  step.request = &request;
  Frame frame = new_frame(call.mode, collective_context, MessageTag(0), call.schedule.slots[0], step.name);
  frame.numbered = true;
  frame.sequence = step.number;
  world_.checker().on_step_sent(life_, step.name, frame);
  Peer& to = peer(Rank(step.peer));
  if (HF_MUTATED(STEP_UNGATED)) {
    if (!to.open || restarted_ || to.sent != stream(to).records.size()) return void(send_frame(to, request, frame));
    frame.position = stream(to).records.size();
    stream(to).records.push_back(frame);
    publish(to, stream(to).records.size());
    request.complete = true;
    return pump(to);
  }
  send_frame(to, request, frame);
}

void Process::recv_step(Step& step) {
  if (HF_MUTATED(NUMBERED_WHEN_RUN)) take_number(step);
  Request& request = requests_.get();
  request.numbered = true;
  request.context = collective_context;
  request.post = step.name;
  step.request = &request;
  ContextPeer& from = context(collective_context).peers[Rank(step.peer)];
  auto arrived = from.numbered_arrived.find(step.number);
  if (arrived == from.numbered_arrived.end()) return void(from.numbered_posted.emplace(step.number, &request));
  Message& message = *arrived->second;
  from.numbered_arrived.erase(arrived);
  complete(request, message);
  look_at_board(true);
}

// False: it is not here yet.
bool Process::take_step(Schedule& schedule, Step& step) {
  if (!step.request || !step.request->complete) return false;
  schedule.slots[step.slot] = step.request->payload.value;
  if (!std::exchange(step.request->taken, true)) {
    world_.checker().on_step_received(life_, step.name, step.request->source, step.request->payload);
  }
  return true;
}

}  // namespace hf::sim::job
