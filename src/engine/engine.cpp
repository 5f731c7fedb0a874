#include "engine/engine.hpp"

#include <algorithm>

#include "engine/engine_impl.hpp"
#include "engine/job_clock.hpp"

namespace hf::engine {

Engine::Engine() : impl_(std::make_unique<EngineImpl>()), calls_(&impl_->calls) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::join() {
  std::unique_ptr<Engine> engine(new Engine);
  if (auto joined = engine->impl_->join(); !joined) return std::unexpected(joined.error());
  return engine;
}

const JobMap& Engine::job() const { return impl_->job; }
void Engine::look_at_call() { impl_->look_at_call(); }
bool Engine::waits() const { return impl_->waits; }
void Engine::order_threads(bool may_give_up, bool (*several)(void* self), void* self) { impl_->order_threads(may_give_up, several, self); }
void Engine::leave_threads_unordered() { impl_->leave_threads_unordered(); }
bool Engine::await_turn(const char* function) { return impl_->recorder->await_turn(function); }
bool Engine::enter_in_turn() { return impl_->recorder->enter_call(); }
void Engine::enter_nested() { impl_->recorder->enter_nested(); }
void Engine::leave_turn() { impl_->recorder->leave_call(); }
void Engine::order_threads_now() { impl_->recorder->order_now(); }
int Engine::go_out() { return impl_->go_out(); }
void Engine::come_back(int depth) { impl_->recorder->come_back(depth); }
void Engine::declare_unprotected(std::string_view function) { impl_->declare_unprotected(function); }

void Engine::open_context(Context context) { impl_->open_context(context); }
void Engine::close_context(Context context) { impl_->close_context(context); }
std::uint64_t Engine::next_context_creation() { return impl_->creations++; }

void Engine::send_next(SendOperation& op) { impl_->send_next(op); }
void Engine::post(RecvOperation& op) { impl_->post(op); }
void Engine::post_next_numbered(RecvOperation& op) { impl_->post_next_numbered(op); }
void Engine::withdraw_exposed(SendOperation& op) { impl_->withdraw(op); }

namespace {

void describe(const Message& m, ProbeResult& result) { result = {m.source, m.tag, m.header.length}; }
void describe(Message& m, Context context, MatchedMessage& out) { out = {m.source, m.tag, m.header.length, context, &m}; }

}  // namespace

void Engine::probe_wait(Context context, Rank source, MessageTag tag, ProbeResult& result) {
  describe(*impl_->probe_wait(context, source, tag, false), result);
}

bool Engine::iprobe(Context context, Rank source, MessageTag tag, ProbeResult& result) {
  Message* m = impl_->probe_test(context, source, tag, false);
  if (m) describe(*m, result);
  return m != nullptr;
}

void Engine::mprobe_wait(Context context, Rank source, MessageTag tag, MatchedMessage& message) {
  describe(*impl_->probe_wait(context, source, tag, true), context, message);
}

bool Engine::improbe(Context context, Rank source, MessageTag tag, MatchedMessage& message) {
  Message* m = impl_->probe_test(context, source, tag, true);
  if (m) describe(*m, context, message);
  return m != nullptr;
}

void Engine::recv_matched(RecvOperation& op, const MatchedMessage& message, const Sink& sink) {
  op.context = message.context;
  op.sink = sink;
  impl_->recv_matched(op, *static_cast<Message*>(message.message));
}

bool Engine::cancel(RecvOperation& op) { return impl_->cancel(op); }
void Engine::complete_unmatched(SendOperation& op) { impl_->complete_unmatched(op); }

Sequence Engine::reserve_send(Context context, Rank destination) {
  Sequence& next = impl_->contexts.find(context)->peer(destination).next_send;
  Sequence reserved = next;
  ++next;
  return reserved;
}

Sequence Engine::reserve_recv(Context context, Rank source) {
  Sequence& next = impl_->contexts.find(context)->peer(source).next_recv;
  Sequence reserved = next;
  ++next;
  return reserved;
}

void Engine::send_numbered(SendOperation& op, Context context, Rank destination, Sequence number, const Source& source) {
  op.destination = destination;
  op.context = context;
  op.source = source;
  op.numbered = true;
  op.sequence = number;
  impl_->send(op);
}

void Engine::recv_numbered(RecvOperation& op, Context context, Rank source, Sequence number, const Sink& sink) {
  op.context = context;
  op.source = source;
  op.numbered = true;
  op.sequence = number;
  op.sink = sink;
  impl_->post_numbered(op);
}

Engine::TestPlan Engine::begin_test() { return impl_->begin_test(); }
void Engine::end_test(std::span<const std::int32_t> completed) { impl_->end_test(completed); }
double Engine::wtime() { return impl_->wtime(); }
double Engine::time_of_another_thread() { return impl_->time_of_another_thread(); }
double Engine::time_before_join() { return engine::time_before_join(); }
Incarnation Engine::incarnation() const { return impl_->incarnation; }
std::vector<std::byte> Engine::logged_events() const { return impl_->logged_events(); }
void Engine::progress() {
  impl_->progress();
  impl_->look_while_testing();
}
void Engine::wait_longer_for(const bool& complete, const Rank& peer) { impl_->wait_for(complete, peer); }
void Engine::wait_erased(bool (*done)(void*), Rank (*whom)(void*), void* self) { impl_->wait(done, whom, self); }
void Engine::add(Progressable& schedule) { impl_->schedules.push_back(&schedule); }
void Engine::remove(Progressable& schedule) { std::erase(impl_->schedules, &schedule); }

void Engine::mark_initialized(bool world) {
  impl_->control.header().phase = segment::Phase::initialized;
  impl_->in_world |= world;
  if (impl_->agent) impl_->agent->tell(wire::BootstrapKind::initialized, wire::Initialized{world});
}
std::vector<Reached> Engine::reached() { return impl_->reached(); }
void Engine::cover(std::span<const Reached> checkpoint) { impl_->cover(checkpoint); }
void Engine::finalize() { impl_->finalize(); }
Result<> Engine::join_again() { return impl_->join_again(); }
void Engine::abort(int exit_code, std::string_view reason) { impl_->abort(exit_code, reason); }
void Engine::note(std::string_view text) { impl_->note(text); }

}  // namespace hf::engine
