// Progress and waiting (design section 4): spin while every rank has a core, else yield between looks; after about a
// millisecond without progress sleep on the doorbell.
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "engine/engine_impl.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace hf::engine {

using segment::Sleeping;

namespace {

constexpr std::int64_t spin_ns = 50'000;         // before yielding: another process may need this core to answer
constexpr unsigned long_waits_max = 16;          // before sleeping once without patience
constexpr std::int64_t patience_ns = 1'000'000;  // before sleeping
constexpr std::int64_t crowded_patience_ns = 3'000;
constexpr std::int64_t share_look_ns = 5'000'000;
constexpr int sleep_ms_max = 1000;
constexpr std::int64_t testing_quiet_ns = 2'000'000;
constexpr unsigned testing_passes = 64;  // tests and probes that find nothing, between two looks at the clock
constexpr std::int64_t quiet_ns = 30'000'000;  // longer than a round trip; one that takes longer brings a payload twice
constexpr std::int64_t look_pause_ns_max = 1'000'000'000;  // between looks into the logs of others while nothing comes
constexpr unsigned idle_look_every = 64;  // passes between looks at the connections to agents that have no question
constexpr int sleep_feeding_ms_max = 5;   // while logs of living peers are followed
constexpr int sleep_unsent_ms_max = 5;    // while records wait for credit: as long as they do
constexpr int sleep_held_ms_max = 1;      // protocol optimist: while something waits for what other agents tell
constexpr int sleep_hearing_ms_max = 1;  // nothing wakes us when ranks of this node are level
constexpr int sleep_finalizing_ms_max = 1;  // nothing wakes us when the last bytes are confirmed

// The sleeper's flag is seen by every sender that looks after this, without a fence on the sender's side.
void barrier_on_all() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0) {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

std::int64_t EngineImpl::now_ns() { return os::now().value; }

void EngineImpl::progress_rails() {
  if (!agent) return;
  if (agent->board_epoch() != board_epoch_) check_board();
  if (in_rails_) {  // called while a frame is being handled, to make room: only what goes out moves
    for (Peer* p : local_peers_) pump(*p);
    for (Peer* p : remote_peers_) pump(*p);
    return;
  }
  in_rails_ = true;
  for (Peer* p : local_peers_) {
    if (p->in.feeding) feed(*p);
    if (!p->in.open) attach(*p);
    if (p->in.open && !p->in.feeding) poll_ring(*p);
    if (p->in.reading) tell_reading(*p, 0);
    if (p->in.awaiting_log > 0) look_for_logged(*p);
    look_for_offer(*p);
    pump(*p);
    if (self_unprotected_) publish_log_done(*p);
  }
  if (rail_) {
    poll_rail();
    // Between questions only the ends of idle connections could be heard. Answers come first: the next question is asked before anybody sleeps.
    if (!remote_log_->idle() || passes_ % idle_look_every == 0) poll_remote_logs();
    for (Peer* p : remote_peers_) {
      if (p->in.feeding) feed_remote(*p);
      pump(*p);
      if (p->lost_since) check_lost(*p);
      if (self_unprotected_) publish_log_done(*p);
    }
  }
  // Where there is no room for them, others are heard meanwhile: all the frames are done with.
  in_rails_ = false;
  if (!storing_) persist_events();
  in_rails_ = true;
  look_at_stable();
  in_rails_ = false;
  after_call();
}

void EngineImpl::progress() {
  ++passes_;
  progress_rails();
  for (std::size_t i = 0; i < schedules.size();) {
    Progressable* schedule = schedules[i];
    if (!schedule->progress()) {
      ++i;
      continue;
    }
    auto it = std::find(schedules.begin(), schedules.end(), schedule);
    if (it != schedules.end()) schedules.erase(it);
  }
}

void EngineImpl::wait(bool (*done)(void*), Rank (*whom)(void*), void* self) {
  std::int64_t began = 0;  // ns
  bool slept = false;
  const bool outer = std::exchange(waits, true);
  while (!wait_awake(done, self, began)) {
    slept = true;
    if (wait_asleep(done, whom(self), self, began)) break;
  }
  if (slept) segment::store_relaxed(control.header().waiting, std::uint64_t{0});
  waits = outer;
}

// True: with success.
[[gnu::noinline]] bool EngineImpl::wait_asleep(bool (*done)(void*), Rank whom, void* self, std::int64_t began) {
  segment::store_relaxed(control.header().waiting, segment::waiting_word({whom, began / 1'000'000}));
  answer_how_far(whom);
  sleep(done, self);
  take_share(now_ns());
  return done(self);
}

// Ranks that outnumber the cores and wait by yielding look all alike to the kernel, which leaves three on one core and one on the
// other for a tenth of a second and more. Who waits goes where all are spread evenly; who computes stays where the kernel has it.
void EngineImpl::take_share(std::int64_t now) {
  share_looked_at_ = now;
  if (spins_ || !agent || crowd_.was_here(now)) return;
  const wire::Welcome& w = agent->welcome();
  os::move_to_share(w.machine_index, w.machine_ranks, w.machine_cores);
}

// Of the job's ranks on this machine, as far as this one sees.
int EngineImpl::ranks_awake() const {
  const auto sleeps = [](const Peer* p) {
    return !p->running() || (p->newest_log && segment::load_relaxed(p->newest_log->control().header().sleeping) != Sleeping::no);
  };
  return agent->welcome().machine_ranks - static_cast<int>(std::ranges::count_if(local_peers_, sleeps));
}

// What a yield brought, which was the last thing it did since then.
void EngineImpl::look_for_crowd(std::int64_t from, std::int64_t to) {
  if (!whole_machine_) return;  // who uses the rest of the machine is in nobody's way
  crowd_.on_yielded(from, to, os::running_processes, [this] { return ranks_awake(); });
}

// False: without success, and it is time to sleep.
bool EngineImpl::wait_awake(bool (*done)(void*), void* self, std::int64_t& began) {
  std::int64_t since = 0;
  std::uint64_t seen = activity();
  bool spins = spins_;
  std::int64_t looked_at = spins ? 0 : now_ns();
  for (unsigned i = 1;; ++i) {
    progress();
    if (done(self)) return true;
    offer_to_threads();
    const bool yields = !spins && !crowd_.sleeps(looked_at);
    if (yields) ::sched_yield();
    if (spins && i % 64 != 0) continue;
    std::int64_t now = now_ns();
    if (yields) look_for_crowd(looked_at, now);
    looked_at = now;
    if (std::uint64_t current = activity(); current != seen || since == 0) {
      seen = current;
      since = now;
      if (began == 0) began = now;
    }
    if (!spins_ && now >= share_looked_at_ + share_look_ns) take_share(now);
    bool long_wait = spins && now - since >= spin_ns;
    spins = spins_ && now - since < spin_ns;
    // Two ranks that share a core, though each could have its own, yield to each other and look too busy to the kernel to be
    // parted. Who sleeps is woken on an idle core.
    bool part = long_wait && spins_ && ++long_waits_ % long_waits_max == 0;
    const std::int64_t patience = !spins && crowd_.sleeps(now) ? crowded_patience_ns : patience_ns;
    if ((part || now - since > patience) && agent) return false;
  }
}

void EngineImpl::wait_for(const bool& complete, const Rank& peer) {
  const bool* outer = std::exchange(awaited_, &complete);
  struct Awaited {
    const bool& complete;
    const Rank& peer;
  } awaited{complete, peer};
  wait([](void* a) { return static_cast<const Awaited*>(a)->complete; }, [](void* a) { return static_cast<const Awaited*>(a)->peer; },
       &awaited);
  awaited_ = outer;
}

std::uint64_t EngineImpl::activity() {
  auto& c = counters();
  return c.messages_received + c.messages_sent + c.messages_replayed + frames_arrived_ + (rail_ ? rail_->bytes_arrived() : 0);
}

// What is in no log comes over its connection alone: the place that it was given stays its own.
bool EngineImpl::all_are_logged(const std::map<MessageName, Message*>& receiving) {
  return std::ranges::all_of(receiving, [](const auto& named) { return named.second->header.flags & wire::flag_logged; });
}

// A sender that computes, or has left MPI, cannot bring what its channel had no room for, or what it logged before its channel
// was open: whoever waits takes it from the log.
void EngineImpl::look_into_logs() {
  if (!job.keeps_payloads) return;
  for (Peer* p : local_peers_) {
    if (p->in.feeding || p->in.fed != p->incarnation || !p->newest_log || !(p->in.open || p->running())) continue;
    std::uint64_t published = p->newest_log->reader(job.self.value).published();
    p->in.feeding = published > p->in.cursor && !(p->in.open && p->in.ring.ready());
  }
  const bool quiet = is_quiet(), look = quiet && now_ns() >= look_at_;
  if (look) {
    look_pause_ns_ = std::min(2 * look_pause_ns_, look_pause_ns_max);
    look_at_ = now_ns() + look_pause_ns_;
  }
  for (Peer* p : remote_peers_) {
    if (!p->in.feeding && !p->in.open && p->running()) p->in.feeding = true;
    if (!quiet || !p->in.open) continue;
    if (!p->in.receiving.empty() && all_are_logged(p->in.receiving)) {
      p->in.silent = true;
      fetch_what_was_coming(*p);
    }
    if (look && !p->in.feeding && p->in.fed == p->incarnation) p->in.feeding = p->in.behind = true;
  }
}

// A program that tests and does not wait: the same, once nothing has come for a while.
void EngineImpl::look_while_testing() {
  if (!agent || ++tests_ % testing_passes != 0) return;
  const std::uint64_t current = activity();
  const std::int64_t now = now_ns();
  if (current == tested_activity_ && now - tested_since_ < testing_quiet_ns) return;
  const bool quiet = current == tested_activity_;
  tested_activity_ = current;
  tested_since_ = now;
  if (!quiet) return;
  look_up_awaited();
  look_into_logs();
}

// Nothing has come for so long that payloads under way are taken from the logs of those who do not send them.
bool EngineImpl::is_quiet() {
  std::uint64_t current = activity();
  if (current != quiet_activity_) {
    quiet_activity_ = current;
    quiet_since_ = now_ns();
    look_at_ = 0;
    look_pause_ns_ = quiet_ns;
  }
  return now_ns() - quiet_since_ > quiet_ns;
}

// Until the logs of others are to be looked into again.
int EngineImpl::ms_to_look() {
  if (!job.keeps_payloads) return sleep_ms_max;
  if (not_looked_up_ == 0 && std::ranges::none_of(remote_peers_, [](const Peer* p) { return p->in.open; })) return sleep_ms_max;
  const std::int64_t at = is_quiet() ? look_at_ : quiet_since_ + quiet_ns;
  return static_cast<int>(std::clamp<std::int64_t>((at - now_ns()) / 1'000'000 + 1, 1, sleep_ms_max));
}

// What begins to wait in the sleeper's last look is seen a millisecond later.
bool EngineImpl::awaits_stable() {
  auto waits = [this](const std::unique_ptr<Peer>& p) { return !p->out.queue.empty() && p->out.queue.front().needs > protocol.gate().stable(); };
  return !optimist_ || optimist_->has_held() || !held_.empty() || finalizing_ || std::ranges::any_of(peers, waits);
}

// Meanwhile other threads of the rank may record what they do.
void EngineImpl::poll_asleep(std::span<pollfd> look, int ms_max) {
  const bool lays_down = threads_ordered && !in_rails_;
  const int depth = lays_down ? recorder->lay_down() : 0;
  ::poll(look.data(), look.size(), ms_max);
  if (lays_down) recorder->take_up(depth);
}

void EngineImpl::sleep(bool (*done)(void*), void* self) {
  auto& flag = control.header().sleeping;
  segment::store_release(flag, awaits_stable() ? Sleeping::until_stable : Sleeping::yes);
  barrier_on_all();
  look_up_awaited();
  look_into_logs();
  passes_ |= idle_look_every - 1;  // the next pass looks at everything
  progress();
  if (!done(self)) {
    bool feeding = false, more = false, unsent = false;
    for (Peer* p : local_peers_) feeding |= p->in.feeding, more |= p->in.feeding && p->in.feeds_more;
    for (Peer* p : remote_peers_) feeding |= p->in.ask_again_at != 0, unsent |= holds_unsent(*p);
    pollfd look[4] = {{agent->doorbell(), POLLIN, 0},
                      {agent->descriptor(), 0, 0},
                      {rail_ ? rail_->descriptor() : -1, POLLIN, 0},
                      {remote_log_ ? remote_log_->descriptor() : -1, POLLIN, 0}};
    int ms_max = finalizing_ ? sleep_finalizing_ms_max : feeding ? sleep_feeding_ms_max : sleep_ms_max;
    if (optimist_ && awaits_stable()) ms_max = sleep_held_ms_max;
    if (unsent) ms_max = std::min(ms_max, sleep_unsent_ms_max);
    if (hears_how_far_) ms_max = std::min(ms_max, sleep_hearing_ms_max);
    ms_max = more ? 0 : std::min(ms_max, ms_to_look());
    poll_asleep(look, ms_max);
    if (look[1].revents & (POLLHUP | POLLERR)) ::_exit(1);  // the agent ends its ranks when it ends
    std::uint64_t rings;
    if (look[0].revents & POLLIN) [[maybe_unused]] ssize_t n = ::read(agent->doorbell(), &rings, sizeof(rings));
  }
  segment::store_release(flag, Sleeping::no);
}

}  // namespace hf::engine
