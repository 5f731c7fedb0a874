// Joining and leaving a job.
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/engine_impl.hpp"
#include "os/process.hpp"

namespace hf::engine {

Result<> EngineImpl::join() {
  const char* socket_name = std::getenv(wire::env_agent);
  if (socket_name && *socket_name) return join_agent(socket_name);
  job.node_of = {NodeId{0}};
  private_control.resize(segment::control_bytes(1) + 64);
  auto at = reinterpret_cast<std::uintptr_t>(private_control.data());
  control = segment::ControlView(private_control.data() + (64 - at % 64) % 64, 1);
  peers.push_back(std::make_unique<Peer>());
  count_calls();
  return {};
}

Result<> EngineImpl::join_agent(std::string_view socket_name) {
  begin_recording();
  const char* rank_text = std::getenv(wire::env_rank);
  char* end = nullptr;
  long rank = rank_text ? std::strtol(rank_text, &end, 10) : -1;
  if (!rank_text || end == rank_text || *end || rank < 0) {
    return fail(Lost::job, fmt::format("{} is not set to a rank; start the program with 'holdfast run'", wire::env_rank));
  }
  auto link = AgentLink::connect(socket_name, Rank{static_cast<std::int32_t>(rank)});
  if (!link) return std::unexpected(link.error());
  agent = std::move(*link);
  const wire::Welcome& w = agent->welcome();
  job = {Rank{w.rank}, w.rank_count, NodeId{w.node}, {}, w.app_number, w.node_count, false, false, agent->rules()};
  for (const auto& entry : agent->ranks()) job.node_of.push_back(NodeId{entry.node});
  job.node_name.assign(w.node_name, ::strnlen(w.node_name, sizeof(w.node_name)));
  incarnation = Incarnation{w.incarnation};
  job.logging = w.protocol != wire::Protocol::none;
  job.orders_threads = w.orders_threads != 0;
  job.keeps_payloads = job.logging && w.keeps_payloads != 0;
  node_level_ = job.logging && w.log_level != wire::LogLevel::process;
  if (node_level_ && w.protocol == wire::Protocol::optimist) {
    board_stable_.emplace(*agent);
    optimist_ = std::make_unique<core::vprotocol::Optimist>(job.self, *board_stable_);
  }
  if (node_level_) {
    protocol.gate_failed_tests();
    protocol.record_failed_tests();
  }
  restarted = w.incarnation > 0;
  kill_at_call = w.incarnation == 0 ? w.kill_at_call : 0;
  drops_every_ = w.drops_every_calls;
  covers_ = w.covers != 0;
  if (w.incarnation == 0) read_injection(std::string_view(w.inject, ::strnlen(w.inject, sizeof(w.inject))));
  divergence_is_fatal_ = w.divergence_is_fatal != 0;
  spins_ = !w.oversubscribed();
  whole_machine_ = w.machine_cores == os::machine_cores();
  eager_bytes_ = w.eager_bytes;
  announced_above_ = std::min(w.announced_above_bytes, w.eager_bytes);
  credit_bytes_ = w.eager_credit_bytes;
  contexts = Contexts(job.rank_count);
  control = segment::ControlView(agent->control().data(), job.rank_count);
  auto& header = control.header();
  header.rank = w.rank;
  header.rank_count = w.rank_count;
  header.incarnation = w.incarnation;
  direct_from_ = w.direct_from_bytes;
  if (direct_from_ != UINT64_MAX) publish_memory();
  segment::store_release(header.magic, segment::control_magic);
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
  log_ = std::make_unique<segment::LogWriter>(control, [this] { return new_log_segment(); }, [this] { drop_covered(); });
  if (job.logging && job.rank_count > 1 && w.log_ready_bytes > 0) log_->reserve(w.log_ready_bytes);
  for (int r = 0; r < job.rank_count; ++r) {
    auto p = std::make_unique<Peer>();
    p->rank = Rank{r};
    p->agent = NodeId{agent->ranks()[static_cast<std::size_t>(r)].agent};
    p->local = agent->ranks()[static_cast<std::size_t>(r)].group == agent->ranks()[static_cast<std::size_t>(w.rank)].group;
    p->in.feeding = restarted && !is_self(p->rank);
    if (!is_self(p->rank)) (p->local ? local_peers_ : remote_peers_).push_back(p.get());
    peers.push_back(std::move(p));
  }
  if (restarted) {
    if (auto loaded = load_past(); !loaded) return loaded;
  } else if (optimist_) {
    begin_optimist({});
  }
  if (w.says_unrecorded != 0 && !recorder) say_unrecorded();
  if (auto attached = attach_recorder(); !attached) return attached;
  protocol.begin(restarted, restarted && own_log_base() > 0);
  not_looked_up_ = remote_peers_.size();
  if (!remote_peers_.empty()) {
    if (auto opened = open_rail(); !opened) return opened;
  }
  check_board();
  count_calls();
  take_share(now_ns());
  return {};
}

std::uint32_t EngineImpl::own_log_base() const {
  return static_cast<std::uint32_t>(agent->board_entry(job.self).agent_and_log_base);
}

namespace {

constexpr std::uint64_t look_again_after = 1000, ask_peers_after = 64;  // calls
constexpr std::uint64_t nothing_in_sight = UINT64_MAX;

bool append_events(segment::LogReader reader, std::vector<std::byte>& stream) {
  const std::size_t begin = stream.size();
  stream.resize(begin + reader.published());
  return reader.read_raw(MutableBytes(stream).subspan(begin));
}

}  // namespace

// The determinants and the sends of the predecessors.
Result<> EngineImpl::load_past() {
  std::vector<std::byte> stream;  // of events, over all incarnations: protocol optimist
  std::vector<PeerLog*> logs;
  std::uint64_t past_events = 0;
  TestClock past_failed{};
  for (std::uint32_t i = own_log_base(); i < incarnation.value; ++i) {
    auto log = std::make_unique<PeerLog>(*agent, job.self, Incarnation{i});
    if (!log->open()) return fail(Lost::job, fmt::format("the log of incarnation {} of rank {} is gone", i, job.self.value));
    if (log->started()) {
      const auto& h = log->control().header();
      const std::uint64_t calls = segment::load_acquire(h.call), out_of_sight = segment::load_acquire(h.out_of_sight_from);
      past_calls_ = std::max(past_calls_, calls);
      past_is_known_ |= i == 0 || segment::load_acquire(h.level) != 0;
      if (out_of_sight != nothing_in_sight) past_file_calls_ = std::max(past_file_calls_, out_of_sight > 0 ? std::min(calls, out_of_sight) : calls);
      const std::uint64_t held = segment::load_acquire(h.first_held_call);
      past_published_calls_ = std::max(past_published_calls_, held > 0 ? held : segment::load_acquire(h.call));
      const TestClock failed{segment::load_acquire(h.last_failed_test)};
      protocol.replay().load_last_failed(failed);
      past_failed = std::max(past_failed, failed);
      auto reader = log->reader(job.rank_count);
      past_events += reader.published();
      if (optimist_ && !append_events(log->reader(job.rank_count), stream)) return fail(Lost::job, "the event log is damaged");
      core::vprotocol::EventHead head;
      std::vector<std::int32_t> indices;
      while (reader.read_raw(std::as_writable_bytes(std::span(&head, 1)))) {
        std::uint64_t more = core::vprotocol::encoded_bytes(head) - sizeof(head);
        if (more > reader.published() - reader.position()) return fail(Lost::job, "the event log is damaged");
        indices.resize(more / sizeof(std::int32_t));
        bool whole = reader.read_raw(std::as_writable_bytes(std::span(indices)));
        if (head.kind == core::vprotocol::EventKind::delivery) indices.resize(head.count);
        const bool of_rank = head.kind == core::vprotocol::EventKind::match || head.kind == core::vprotocol::EventKind::dependency;
        bool ranks = !of_rank || head.count < static_cast<std::uint32_t>(job.rank_count);
        if (!whole || !ranks || !protocol.replay().load(head, indices)) return fail(Lost::job, "the event log is damaged");
      }
    }
    logs.push_back(log.get());
    own_past_.push_back(std::move(log));
  }
  if (!protocol.replay().end_loading()) return fail(Lost::job, "the event log is damaged");
  take_over_past(past_events, past_failed);
  if (optimist_) begin_optimist(stream);
  sent_before_ = std::make_unique<SentBefore>(std::move(logs), job.rank_count);
  caught_up_ = level_ = false;
  recorder_waits_ = recorder != nullptr;
  if (recorder) known_calls_ = recorder->last_call();
  if (recorder_waits_) keep_out_of_sight();
  return {};
}

void EngineImpl::declare_unprotected(std::string_view function) {
  if (!job.logging) return;
  if (is_behind()) {
    abort(1, fmt::format("a second thread called {} while this rank was being recovered: in which order threads call MPI is "
                         "not recorded",
                         function));
  }
  agent->tell(wire::BootstrapKind::unprotect, wire::Unprotect{job.self.value, wire::UnprotectReason::threads}, function);
}

void EngineImpl::count_calls() {
  calls.published = &control.header().call;
  calls.look_at = next_look(0);
  if (!caught_up_) calls.look_at = std::min({calls.look_at, past_calls_, past_file_calls_});
}

// The first call behind this one at which faults are injected.
std::uint64_t EngineImpl::next_look(std::uint64_t call) const {
  const std::uint64_t kill = kill_at_call > call ? kill_at_call : UINT64_MAX;
  return drops_every_ > 0 ? std::min(kill, (call / drops_every_ + 1) * drops_every_) : kill;
}

void EngineImpl::look_at_call() {
  if (calls.number == kill_at_call) ::kill(::getpid(), SIGKILL);
  const bool behind = is_behind();
  if (!caught_up_ && !behind && (past_calls_ > 0 || has_come_as_far())) report_caught_up();
  if (drops_every_ > 0 && calls.number % drops_every_ == 0) pretend_checkpoints();
  if (std::exchange(hears_rails_, false)) progress();
  answer_how_far(segment::no_rank);
  if (recorder_waits_) tell_recorder();
  if (behind) return;
  // With nothing of the predecessors' left to find, messages go the short way again.
  if (sent_before_ && sent_before_->exhausted()) sent_before_.reset();
  calls.look_at = next_look(calls.number);
  if (sent_before_) calls.look_at = std::min(calls.look_at, calls.number + look_again_after);
  if (!caught_up_ || !is_level()) calls.look_at = std::min(calls.look_at, calls.number + ask_peers_after);
  if (recorder_waits_) calls.look_at = std::min(calls.look_at, calls.number + (files_level_ ? ask_peers_after : 1));
}

// Where the predecessors' calls are not known, nothing that this incarnation does counts before it is in sight.
void EngineImpl::keep_out_of_sight() {
  segment::store_release(control.header().out_of_sight_from, past_file_calls_ == 0 ? nothing_in_sight : past_file_calls_);
}

// Of a call that the predecessors had begun, they may have done what comes behind it too: it is past with the next one. After the loss of a node nobody knows that call: they had
// come to the last event, and to the last message that others have had of them, and may have done what comes behind it.
void EngineImpl::tell_recorder() {
  using wire::ReplayEnd;
  if (past_file_calls_ == 0) return tell_recorder_as_peers_know();
  if (calls.number < past_file_calls_) return;
  tell_recorder(calls.number > past_file_calls_ ? ReplayEnd::past : ReplayEnd::last_call);  // also while a message that was matched before has not come again: what this rank sends now tells others of its files
}

// The recorder is to know of each call whether it was the last that others know of: what comes behind it is compared with what was there then. So nothing is done behind a call of
// which that is not known yet, if any of it is out of sight.
void EngineImpl::tell_recorder_as_peers_know() {
  using wire::ReplayEnd;
  if (protocol.replaying() || calls.number < known_calls_) return;
  Behind behind = behind_peers();
  if (behind.none() && !(behind.all_told && behind.all_level)) {
    if (tell_recorder(ReplayEnd::unknown)) return void(tell_recorder(ReplayEnd::events));
    hear_how_far();
    behind = behind_peers();
  }
  const std::uint64_t in_a_call = 256 + 4 * static_cast<std::uint64_t>(job.rank_count);  // more than that are sent in few
  if (behind.messages > in_a_call) tell_recorder(ReplayEnd::events_before);
  else if (!behind.none()) tell_recorder(ReplayEnd::events);
  else files_level_ = tell_recorder(ReplayEnd::as_peers_know);
}

// True: nothing is out of sight.
bool EngineImpl::tell_recorder(wire::ReplayEnd end) {
  const bool in_sight = recorder->caught_up(end);
  if (end == wire::ReplayEnd::past && in_sight) recorder_waits_ = false;
  if (end <= wire::ReplayEnd::last_call) return in_sight;
  if (in_sight) segment::store_release(control.header().out_of_sight_from, std::uint64_t{0});
  else keep_out_of_sight();
  return in_sight;
}

// "name:n", as the launcher passed it from --inject kill:rank=R,point=name:n.
void EngineImpl::read_injection(std::string_view spec) {
  std::size_t colon = spec.find(':');
  if (colon == std::string_view::npos) return;
  point_name_ = spec.substr(0, colon);
  points_left_ = std::strtoull(std::string(spec.substr(colon + 1)).c_str(), nullptr, 10);
}

void EngineImpl::pass_point(const char* name) {
  if (point_name_ == name && --points_left_ == 0) ::kill(::getpid(), SIGKILL);
}

// Without a sender log nothing outlives this process: what peers still need must have left it.
void EngineImpl::finalize() {
  if (!agent) return;
  if (!caught_up_ && calls.number >= std::max(past_calls_, known_calls_)) report_caught_up();  // else the run before had joined again
  if (recorder_waits_ && caught_up_) {
    // What comes behind this call, its predecessors may have done: the recorder settles it when the process ends.
    const bool is_last = past_file_calls_ > 0 ? calls.number == past_file_calls_ : !behind_peers().none();
    tell_recorder(is_last ? wire::ReplayEnd::last_call : past_file_calls_ == 0 ? wire::ReplayEnd::as_peers_know : wire::ReplayEnd::past);
    recorder_waits_ = false;
  }
  finalizing_ = true;
  if (optimist_) write_all();
  order_over_ |= threads_ordered;
  if (threads_ordered) recorder->order_no_longer();  // nothing is sent that could tell of it, and this waits for all that was recorded
  auto flushed = [this] {
    for (Peer* p : remote_peers_) rail_->confirm(p->rank);
    if (!held_.empty() || (optimist_ && !depends_on_nothing())) return false;
    for (auto& p : peers) {
      // Of whom nothing is known yet, the addresses are on their way.
      const bool unknown = !job.keeps_payloads && p->looked_up && p->state == wire::RankState::absent;
      if ((!p->running() && !unknown) || is_self(p->rank)) continue;
      if (!p->out.queue.empty() || !p->out.transfers.empty()) return false;
      if (!p->local && rail_->unconfirmed_bytes(p->rank) > 0) return false;
    }
    return true;
  };
  if (!flushed()) wait_on(segment::several_ranks, flushed);
  control.header().phase = segment::Phase::finalized;
  agent->tell(wire::BootstrapKind::finalized);
}

// Whatever came meanwhile stands where it always does: in rings, sockets and logs.
Result<> EngineImpl::join_again() {
  if (!agent) return {};
  if (order_over_) {
    return fail(Lost::operation, "this process has left MPI, and the order of its threads is recorded no longer; with threads that call MPI in turn, "
                                 "keep one session open until the end");
  }
  finalizing_ = false;
  return {};
}

void EngineImpl::note(std::string_view text) {
  if (agent) agent->tell(wire::BootstrapKind::note, {}, text);
}

void EngineImpl::abort(int exit_code, std::string_view reason) {
  if (agent) {
    wire::AbortJob body{exit_code};
    agent->tell(wire::BootstrapKind::abort_job, body, reason);
  } else if (!reason.empty()) {
    std::fprintf(stderr, "holdfast: %.*s\n", static_cast<int>(reason.size()), reason.data());
  }
  ::_exit(exit_code == 0 ? 1 : exit_code & 0xff);
}

}  // namespace hf::engine
