// Events of the C library: the recorder of the process (src/recorder) has them stored here, in the rank's event stream.
#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

// In this library, wherever it was loaded.
void marker_of_the_library() {}

constexpr std::int64_t ask_again_ns = 10'000'000, spin_for_stable_ns = 20'000;

}  // namespace

// Before anything in MPI_Init calls what is recorded. Without a recorder (protocol `none`, --record-libc no) there is nothing to do.
void EngineImpl::begin_recording() {
  recorder = static_cast<const wire::RecorderLink*>(::dlsym(RTLD_DEFAULT, wire::recorder_symbol));
  if (!recorder || recorder->version != wire::recorder_version) {
    recorder = nullptr;
  } else if (!recorder->begin(reinterpret_cast<const void*>(&marker_of_the_library))) {
    abort(1, "the recorder could not ask the agent for what was recorded before, or this process was forked after MPI_Init or by a second thread: see "
             "docs/recorder.md, or say --record-libc no");
  }
}

// A wrapper has taken it away.
void EngineImpl::say_unrecorded() {
  note("this program's clocks and random numbers are not recorded, and may differ after a recovery: the recorder, which was preloaded (LD_PRELOAD), "
       "is not in it: what starts the program sets another LD_PRELOAD, or the program is linked statically or with a sanitizer (--record-libc no "
       "says that this is meant)");
}

Result<> EngineImpl::attach_recorder() {
  if (!recorder) return {};
  wire::EventStore store;
  store.self = this;
  store.append = [](void* self, const void* event, std::size_t bytes) {
    static_cast<EngineImpl*>(self)->store_libc_event(Bytes(static_cast<const std::byte*>(event), bytes));
  };
  if (node_level_) {
    store.await_stable = [](void* self) { static_cast<EngineImpl*>(self)->await_stable(); };
    store.call = &control.header().call;
  }
  if (recorder->attach(&store, &control.header().clock_reads)) return {};
  return fail(Lost::job, "the program has read more clocks and random numbers before MPI_Init than are kept (16 MiB): --record-libc no "
                         "leaves them alone");
}

// MPI_Init_thread has provided SERIALIZED, or the user wants it.
void EngineImpl::order_threads(bool may_give_up, bool (*several)(void* self), void* self) {
  if (!recorder) return;
  tell_several_ = several;
  tell_several_self_ = self;
  wire::ThreadOwner owner;
  owner.self = this;
  owner.may_give_up = may_give_up;
  owner.word = &control.header().thread_turns;
  owner.several = [](void* engine) {
    auto& self = *static_cast<EngineImpl*>(engine);
    return self.threads_ordered = self.tell_several_(self.tell_several_self_);
  };
  owner.note = [](void* engine, const char* text) {
    auto& self = *static_cast<EngineImpl*>(engine);
    self.note(fmt::format("rank {}: {}", self.job.self.value, text));
  };
  owner.end = [](void* engine, const char* text) { static_cast<EngineImpl*>(engine)->abort(1, text); };
  recorder->order_threads(&owner);
}

void EngineImpl::leave_threads_unordered() {
  if (recorder) recorder->order_threads(nullptr);
}

// As store_events, but that nobody is asked to take it before a frame depends on it: a program may read a clock very often.
void EngineImpl::store_libc_event(Bytes event) {
  if (optimist_ || protocol.has_failed_run()) {
    protocol.close_failed_run();
    persist_events();
  }
  while (!log_->reserve_raw(job.rank_count, event.size())) make_room();
  log_->append_raw(job.rank_count, event);
  log_->publish(job.rank_count);
  if (optimist_) optimist_->on_event_stored(past_events_ + log_->published(job.rank_count));
  else if (node_level_) keep_recent(event);
  protocol.on_libc_event();
  counters().determinants = protocol.event_count();
  if (node_level_) libc_events_wait_ = true;
  else protocol.gate().on_stable(protocol.gate().events());
}

// Outside MPI, where the program is about to change a file: nothing is taken from the rails meanwhile.
void EngineImpl::await_stable() {
  if (finalizing_ || (optimist_ && threads_ordered)) return;  // another thread may be in the engine, and await something itself
  if (optimist_) write_all();
  const AgentLink::Stable wanted{past_events_ + log_->published(job.rank_count), std::max(past_failed_, TestClock{segment::load_relaxed(control.header().last_failed_test)})};
  const auto is_stable = [&] {
    if (optimist_) return is_independent();
    const AgentLink::Stable stable = agent->stable();
    return stable.events >= wanted.events && stable.last_failed >= wanted.last_failed;
  };
  for (std::int64_t told = 0, began = now_ns(); !is_stable();) {
    const std::int64_t now = now_ns();
    if (now > told + ask_again_ns) agent->tell(wire::BootstrapKind::determined), told = now;
    if (now < began + spin_for_stable_ns) continue;
    pollfd end{agent->descriptor(), 0, 0};
    timespec pause{0, 20'000};
    if (::ppoll(&end, 1, &pause, nullptr) > 0) ::_exit(1);  // the agent ends its ranks when it ends
  }
}

}  // namespace hf::engine
