// Determinants: recording them, replaying them, and what replay holds back until the last one is consumed.
#include <fmt/format.h>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"
#include "engine/job_clock.hpp"
#include "os/process.hpp"

namespace hf::engine {

// After anything that may have consumed the last determinant.
void EngineImpl::after_call() {
  if (!job.logging || !protocol.replaying()) return;
  if (!protocol.poll_caught_up()) return;
  released_matches();
  if (recorder_waits_ && past_file_calls_ == 0) tell_recorder(wire::ReplayEnd::events);
}

// Nothing comes in meanwhile, as making room for an event would let it: what is queued is matched before.
void EngineImpl::released_matches() {
  const bool outer = std::exchange(in_rails_, true);
  contexts.each([this](Context, ContextState& state) {
    state.matcher.release_held();
    while (auto match = state.matcher.poll_match()) {
      complete(static_cast<RecvOperation&>(*match.receive), static_cast<Message&>(*match.message));
    }
  });
  in_rails_ = outer;
  if (!outer) persist_events();
}

// What is known of the predecessors has not been done again yet.
bool EngineImpl::is_behind() const { return !caught_up_ && (calls.number < std::max(past_calls_, known_calls_) || protocol.replaying()); }

void EngineImpl::report_caught_up() {
  caught_up_ = true;
  wire::CaughtUp report;
  report.call = calls.number;
  report.messages_replayed = counters().messages_replayed;
  report.sends_suppressed = counters().sends_suppressed;
  report.determinants = protocol.replay().consumed();
  agent->tell(wire::BootstrapKind::caught_up, report);
}

Engine::TestPlan EngineImpl::begin_test() {
  if (!job.logging) return {};
  auto plan = protocol.on_test();
  using Test = core::vprotocol::Replay::Test;
  switch (plan.kind) {
    case Test::free: return {};
    case Test::nothing: return {Engine::TestPlan::nothing, {}};
    case Test::exactly: return {Engine::TestPlan::exactly, plan.which};
    case Test::diverged: break;
  }
  diverged(fmt::format("MPI call {}: a completion test that the run before did not make", calls.number));
}

void EngineImpl::end_test(std::span<const std::int32_t> completed) {
  if (!job.logging) return;
  protocol.on_test_result(completed);
  if (completed.empty()) segment::store_release(control.header().last_failed_test, protocol.last_failed().value);
  else persist_events();
}

// Seconds since about the beginning of the job, by a clock that a rank finds on another node too and that does not jump meanwhile.
double EngineImpl::wtime() {
  if (job.logging && !protocol.replaying()) keep_pace();
  const double now = system_wtime();
  if (!job.logging) return now;
  double t = protocol.on_time(now);
  persist_events();
  after_call();
  return t;
}

double EngineImpl::system_wtime() {
  const double monotonic = seconds_of(CLOCK_MONOTONIC);
  double offset = wtime_offset_.load(std::memory_order_relaxed);
  if (offset == 0) {
    const double epoch = agent ? 1e-9 * static_cast<double>(agent->welcome().job_started_ns) : first_asked();
    const double first = seconds_of(CLOCK_REALTIME) - epoch - monotonic;
    if (wtime_offset_.compare_exchange_strong(offset, first)) offset = first;
  }
  return monotonic + offset;
}

double EngineImpl::time_of_another_thread() {
  double now = system_wtime();
  if (recorder) recorder->give_time(&now);
  return now;
}

// Each value is an event.
void EngineImpl::keep_pace() {
  std::int64_t now = now_ns();
  for (const std::int64_t earliest = pace_.earliest(now, calls.number); now < earliest;) now = now_ns();
  pace_.was_read(now);
}

std::vector<std::byte> EngineImpl::logged_events() {
  if (!job.logging) return {};
  segment::LogReader reader = own_reader(Rank{job.rank_count});
  std::vector<std::byte> out(reader.published());
  HF_CHECK(reader.read_raw(out));
  return out;
}

// A blocking probe, with or without taking the message. While it replays, an any-source probe sees only the recorded
// source, or nothing before the last determinant is consumed.
Message* EngineImpl::probe_wait(Context context, Rank source, MessageTag tag, bool take) {
  core::match::Posted posted;
  posted.source = source;
  posted.any_source = source == any_rank;
  RequestNumber number{};
  if (job.logging) number = protocol.on_post(posted);
  if (!posted.any_source && posted.source != source) diverged_source(source, posted.source);
  bool forced = posted.any_source && posted.source != any_rank;
  Message* found = nullptr;
  auto done = [&] {
    if (posted.mode == core::match::Mode::held && protocol.replaying()) return false;
    found = look(context, posted.source, tag);
    return found != nullptr;
  };
  after_call();
  wait_for_probed(posted.source, done);
  see(peer(found->source), found->taken);
  if (job.logging) {
    protocol.on_match(number, posted.any_source, forced, found->source);
    persist_events();
  }
  if (take) this->take(context, *found);
  return found;
}

// MPI_Iprobe and MPI_Improbe: a completion test; its one index is the source found.
Message* EngineImpl::probe_test(Context context, Rank source, MessageTag tag, bool take) {
  auto plan = begin_test();
  Message* found = nullptr;
  if (plan.kind == Engine::TestPlan::nothing) {
    progress();
    look_while_testing();
    return nullptr;
  }
  if (plan.kind == Engine::TestPlan::exactly) {
    if (plan.which.size() != 1) diverged(fmt::format("MPI call {}: the run before made another completion test", calls.number));
    Rank recorded{plan.which[0]};
    auto done = [&] { return (found = look(context, recorded, tag)) != nullptr; };
    wait_for_probed(recorded, done);
    see(peer(recorded), found->taken);
  } else {
    found = look(context, source, tag);
    if (!found) {
      progress();
      look_while_testing();
      found = look(context, source, tag);
    }
    if (found) see(peer(found->source), found->taken);
    std::int32_t index = found ? found->source.value : 0;
    end_test(std::span(&index, found ? 1 : 0));
  }
  if (found && take) this->take(context, *found);
  after_call();
  return found;
}

void EngineImpl::take(Context context, Message& m) {
  contexts.find(context)->matcher.take(m);
  probed_.push_back(&m);
  on_taken(m.source, m.header, m.self_synchronous);
}

void EngineImpl::diverged_source(Rank now, Rank recorded) {
  diverged(fmt::format("MPI call {}: the replay receives from rank {} where the run before received from any source, and got rank {}",
                       calls.number, now.value, recorded.value));
}

void EngineImpl::diverged(std::string text) {
  if (const int threads = os::own_threads(); recorder && !job.orders_threads && !threads_ordered && threads > 1) {
    text += fmt::format(" (this rank has {} threads, and in which order they take locks was not recorded: --order-threads always)", threads);
  }
  wire::Diverged body{.fatal = 1, .call = calls.number};
  agent->tell(wire::BootstrapKind::diverged, body, text);
  abort(1, "the replay differs from the run before: " + text);
}

void EngineImpl::report_divergence(std::string text) {
  if (divergence_is_fatal_) diverged(std::move(text));
  wire::Diverged body{.fatal = 0, .call = calls.number};
  agent->tell(wire::BootstrapKind::diverged, body, text);
}

}  // namespace hf::engine
