#include "sim/job/process.hpp"

#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/workloads.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

Process::Process(World& world, Node& node, Rank self, Incarnation incarnation, RankLog& log)
    : world_(world),
      node_(node),
      self_(self),
      incarnation_(incarnation),
      log_(log),
      life_(world.checker().on_start(self, incarnation, node.term(self), node.home(self), node.stream(self))),
      optimist_(self, node.known_stable()),
      optimistic_(world.options().optimistic()) {
  if (world.options().keeps_events()) {
    protocol_.record_failed_tests();
    if (!optimistic_) protocol_.gate_failed_tests();
  }
  restarted_ = incarnation.value > 0;
  if (restarted_) load_past();
  if (optimistic_) begin_optimist();
  world.add(*this);
}

Process::~Process() { world_.remove(*this); }

int Process::ranks() const { return world_.options().ranks; }

TrafficPlan& Process::plan() { return world_.plan(); }

// As the engine's load_past and take_over_past.
void Process::load_past() {
  TestClock past_failed{};
  bool log_lost = false;
  for (const auto& log : node_.past(self_)) {
    if (log.get() == &log_) break;
    log_lost |= log->incarnation.value > 0 && log == node_.past(self_).front();
    protocol_.replay().load_last_failed(log->last_failed);
    past_failed = std::max(past_failed, log->last_failed);
    past_events_ += log->events.size();
    core::vprotocol::EventHead head;
    for (Bytes left = log->events; !left.empty(); left = left.subspan(core::vprotocol::encoded_bytes(head))) {
      std::memcpy(&head, left.data(), sizeof(head));
      std::vector<std::int32_t> indices(head.kind == core::vprotocol::EventKind::delivery ? head.count : 0);
      if (!indices.empty()) std::memcpy(indices.data(), left.data() + sizeof(head), indices.size() * sizeof(std::int32_t));
      if (!protocol_.replay().load(head, indices)) diverged("an event log that cannot be");
    }
    for (const auto& [to, sent] : log->streams) {
      for (std::size_t i = 0; i < sent.published; ++i) {
        const Frame& record = sent.records[i];
        if (record.dependencies) continue;
        sent_before_.try_emplace({to, {record.kind == wire::FrameKind::matched, MessageName(record)}}, &record);
      }
    }
  }
  if (!protocol_.replay().end_loading()) diverged("an event log that cannot be");
  protocol_.begin(true, log_lost);
  if (HF_MUTATED(PAST_IS_STABLE)) return;
  if (!world_.options().keeps_events() || optimistic_ || (past_events_ == 0 && past_failed.value == 0)) return;
  protocol_.gate().on_event();
  unstable_.push_back({protocol_.gate().events(), past_events_, past_failed});
  tell_agent();
}

void Process::start() {
  if (restarted_) {
    for (int rank = 0; rank < ranks(); ++rank) {
      if (Rank(rank) == self_) continue;
      peer(Rank(rank)).feeding = true;
      if (optimistic_) halted_.insert(Rank(rank));
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      if (Rank(rank) != self_) on_board(Rank(rank));
    }
    for (auto& [rank, p] : peers_) feed(p);
  }
  started_ = true;
  program_ = run_workload(world_.options(), *this);
  program_.start();
  go();
}

// ---- calls of the program

Request* Process::isend(int to, int context, int tag, std::uint64_t value, SendMode mode, std::uint32_t bytes) {
  Request& request = requests_.get();
  request.is_send = true;
  if (dead_) return &request;
  if (optimistic_) settle();
  if (dead_) return &request;
  const Context in(static_cast<std::uint64_t>(context));
  Frame frame = new_frame(mode, in, MessageTag(tag), value, world_.checker().next_send(life_));
  frame.payload.bytes = bytes;
  spend_on_send(bytes);
  Peer& p = peer(Rank(to));
  world_.checker().on_send(life_, p.rank, in, frame.tag, frame.payload.value);
  Sequence& next = this->context(in).peers[p.rank].next_send;
  frame.sequence = next;
  ++next;
  [[maybe_unused]] const bool again = send_frame(p, request, frame);
  if (HF_MUTATED(NUMBER_AT_TRANSMISSION) && again) next = frame.sequence;
  return &request;
}

Request* Process::irecv(int from, int context, int tag) {
  Request& r = requests_.get();
  if (dead_) return &r;
  r.source = from < 0 ? any_rank : Rank(from);
  r.tag = tag < 0 ? any_tag : MessageTag(tag);
  r.any_source = from < 0;
  r.context = Context(static_cast<std::uint64_t>(context));
  r.post = world_.checker().on_post(life_, r.source, r.context, r.tag);
  const Rank asked = r.source;
  r.number = protocol_.on_post(r);
  if (!r.any_source && r.source != asked) diverged("a receive from another source");
  r.forced = r.any_source && r.source != any_rank;
  if (core::match::Arrived* m = this->context(r.context).matcher.post(r)) complete(r, static_cast<Message&>(*m));
  after_call();
  look_at_board(true);
  return &r;
}

double Process::time() {
  if (dead_) return 0;
  const double t = protocol_.on_time(static_cast<double>(world_.now().value) * 1e-9);
  persist_events();
  after_call();
  if (!dead_) world_.checker().on_time(life_, t);
  return t;
}

Received Process::take(Request* request) {
  Received out{request->source, request->tag, request->payload.value};
  if (request->is_collective && !dead_) world_.checker().on_collective(life_, out.value);
  else if (!request->is_send && !dead_) world_.checker().on_received(life_, request->post, out.source, out.tag, request->payload);
  if (!request->is_send) spend(&Costs::call_ns);
  requests_.put(*request);
  return out;
}

void Process::spend(std::int64_t Costs::* each, std::uint64_t times) {
  const auto& timing = world_.options().timing;
  if (timing) spent_ += static_cast<std::int64_t>(times) * timing->costs.*each;
}

void Process::spend_on_send(std::uint32_t bytes) {
  spend(&Costs::call_ns);
  const auto& timing = world_.options().timing;
  if (timing && timing->logs) spent_ += static_cast<std::int64_t>(bytes * timing->costs.log_ns_a_byte);
}

// ---- running

bool Process::enter() {
  if (dead_) return false;
  look_at_board(false);
  handling_ = true;
  while (!inbox_.empty() && !dead_) {
    for (auto& action : std::exchange(inbox_, {})) {
      if (!dead_) action();
    }
  }
  handling_ = false;
  persist_events();
  look_at_board(true);
  look_at_stable();
  run_collectives();
  after_call();
  return !dead_;
}

void Process::block(Blocked& blocked, std::coroutine_handle<> handle) {
  if (dead_) return;
  blocked_ = &blocked;
  handle_ = handle;
}

void Process::compute(Compute& compute, std::coroutine_handle<> handle, std::int64_t ns) {
  if (dead_) return;
  block(compute, handle);
  computing_ = true;
  world_.at_process(*this, ns, [&compute](Process& p) { p.on_computed(compute); });
}

void Process::on_computed(Compute& compute) {
  computing_ = false;
  compute.end();
  look_at_board(false);
  go();
}

void Process::go() {
  while (!dead_ && blocked_ && blocked_->ready()) {
    blocked_ = nullptr;
    handle_.resume();
  }
  if (dead_ || finished_ || !program_.done()) return;
  if (!inbox_.empty()) enter();
  if (!held_.empty() || dead_) return;
  if (optimistic_) {
    if (std::exchange(ending_, true)) return;
    settle();
    effects_[++tokens_].is_end = true;
    if (offer(tokens_)) pass(tokens_);
    return;
  }
  finished_ = true;
  world_.on_finished(*this, program_.result());
}

void Process::after_call() {
  if (dead_ || !protocol_.replaying() || !protocol_.poll_caught_up()) return;
  for (auto& [id, state] : contexts_) {
    state.matcher.release_held();
    while (auto match = state.matcher.poll_match()) complete(static_cast<Request&>(*match.receive), static_cast<Message&>(*match.message));
  }
}

// ---- what may leave: src/engine/stability.cpp

void Process::persist_events() {
  if (dead_ || !protocol_.has_events() || point()) return;
  const auto events = protocol_.events();
  spend_on(events);
  if (optimistic_) optimist_.on_stored(stream_end(), protocol_);
  if (optimistic_) world_.checker().lineage().on_written(life_.lineage, events, life_.seen.size());
  log_.events.insert(log_.events.end(), events.begin(), events.end());
  if (!world_.options().keeps_events()) world_.checker().on_stored(self_, stored_here, {}, stream_end(), events, {});
  protocol_.events_taken();
  if (optimistic_) node_.determined(self_);
  else if (world_.options().keeps_events()) await_holder();
  else protocol_.gate().on_stable(protocol_.gate().events());
  point();
}

void Process::spend_on(Bytes events) {
  if (!world_.options().timing || !world_.options().timing->logs) return;
  core::vprotocol::EventHead head;
  std::uint64_t determinants = 0;
  for (; !events.empty(); events = events.subspan(core::vprotocol::encoded_bytes(head))) {
    std::memcpy(&head, events.data(), sizeof(head));
    determinants += head.kind != core::vprotocol::EventKind::dependency;
  }
  spend(&Costs::event_ns, determinants);
  world_.count_determinants(determinants);
}

bool Process::settle() {
  if (optimistic_) {
    protocol_.close_failed_run();
    persist_events();
    return true;
  }
  if (protocol_.gate().open()) return true;
  persist_events();
  if (!world_.options().keeps_events()) return true;
  if (protocol_.poll_failed()) await_holder();
  look_at_stable();
  return protocol_.gate().open();
}

void Process::await_holder() {
  protocol_.poll_failed();  // the word goes with the events
  look_at_stable();
  unstable_.push_back({protocol_.gate().events(), past_events_ + log_.events.size(), protocol_.last_failed()});
  tell_agent();
}

void Process::tell_agent() {
  if (asked_ > protocol_.gate().stable() || unstable_.empty()) return;  // on its way
  asked_ = unstable_.back().events;
  node_.determined(self_);
}

void Process::look_at_stable() {
  if (unstable_.empty()) return;
  const Extent stable = HF_MUTATED(WRITTEN_IS_STABLE) ? Extent{UINT64_MAX, TestClock{UINT64_MAX}} : node_.stable(self_);
  while (!unstable_.empty() && unstable_.front().end <= stable.end && unstable_.front().last_failed <= stable.last_failed) {
    protocol_.gate().on_stable(unstable_.front().events);
    unstable_.pop_front();
  }
  tell_agent();
  release_held();
}

void Process::release_held() {
  for (core::vprotocol::Gate::Token token; protocol_.gate().poll_released(token);) {
    HeldSend held = held_.front();
    held_.pop_front();
    publish(*held.to, held.end);
    if (held.request) held.request->complete = true;
    pump(*held.to);
  }
}

bool Process::point() {
  if (points_left_ == 0 || dead_ || --points_left_ > 0) return dead_;
  dead_ = true;
  world_.on_point(*this);
  return true;
}

void Process::diverged(const char* what) { world_.on_diverged(*this, what); }

std::string Process::describe() {
  std::string out = dead_ ? "dying" : !started_ ? "not started" : computing_ ? "computing" : "waiting";
  if (replaying()) out += ", replaying";
  if (!held_.empty()) out += ", sends at the gate";
  for (const Call& call : calls_) out += fmt::format(", a collective at step {} of {}", call.schedule.next, call.schedule.steps.size());
  if (optimist_.has_held()) {
    out += ", effects held by";
    for (const auto& d : optimist_.vector().entries()) out += fmt::format(" ({}, {}, {})", d.rank.value, d.term.value, d.position);
  }
  for (auto& [rank, p] : peers_) {
    if (!p.early.empty()) out += fmt::format(", frames of {} wait for the board", rank.value);
    if (p.orphaned) out += fmt::format(", takes nothing of {} up to {}", rank.value, p.orphaned->value);
    if (p.feeding) out += fmt::format(", reads the log of {} ({})", rank.value, p.fed.value);
    if (!p.synchronous.empty()) out += fmt::format(", unacknowledged by {}", rank.value);
    if (!p.receiving.empty() || !p.unlogged.empty()) out += fmt::format(", payloads missing from {}", rank.value);
  }
  for (auto& [id, state] : contexts_) {
    if (auto* r = state.matcher.posted().first()) {
      out += fmt::format(", context {} receives from {} tag {}", id.value, r->source.value, r->tag.value);
    }
    if (auto* m = state.matcher.unexpected().first()) {
      out += fmt::format(", context {} has one from {} tag {}", id.value, m->source.value, m->tag.value);
    }
  }
  return out;
}

}  // namespace hf::sim::job
