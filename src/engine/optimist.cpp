// Protocol optimist at level `node` (docs/optimist.md): what this rank depends on goes with its messages, what others' messages depend on is
// taken over when the program sees them, and what depends on lost events is taken out again.
#include <poll.h>
#include <unistd.h>

#include <atomic>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {

using core::vprotocol::Cuts;
using core::vprotocol::CutTable;
using core::vprotocol::Dependency;

namespace {

Dependency dependency_of_board(Rank rank, std::uint64_t word) {
  const auto term = static_cast<std::uint32_t>(word >> wire::board_position_bits);
  return {rank, Term{term}, word & wire::board_position_max};
}

}  // namespace

// A word of 0 says nothing: no event ends at 0.
bool BoardStable::covers(const Dependency& event) const {
  const std::uint64_t word = segment::load_acquire(agent_.dependencies_of(event.rank).stable);
  return core::vprotocol::covers(dependency_of_board(event.rank, word), event);
}

// `past`: the predecessors' event stream. Before the program's first call.
void EngineImpl::begin_optimist(Bytes past) {
  cuts_seen_ = agent->cut_total();
  load_cuts(optimist_->cuts());
  optimist_->begin(agent->events_term(job.self), past);
  if (optimist_->is_orphan()) end_as_orphan();
  if (past.empty()) return;
  protocol.gate().on_event();
  tell_own_events();
  look_at_dependencies();
}

void EngineImpl::load_cuts(CutTable& cuts) {
  for (int r = 0; r < job.rank_count; ++r) {
    const wire::BoardDependencies& of = agent->dependencies_of(Rank{r});
    const std::uint64_t count = std::min<std::uint64_t>(segment::load_acquire(of.cut_count), wire::board_cuts_max);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Dependency cut = dependency_of_board(Rank{r}, segment::load_acquire(of.cuts[i]));
      if (cuts.add(cut.rank, cut.term, cut.position) == Cuts::Added::full) abort(1, "a rank of this job began anew too often");
    }
  }
}

// ---- what this rank determined

// Events and records were stored. Either the agent that writes a cut and then looks at the stream
// sees them, or we see the cut.
void EngineImpl::on_events_stored() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  tell_own_events();
#ifndef HOLDFAST_MUTATE_CUTS_NOT_LOOKED_AT_AGAIN
  if (!ends_as_orphan_ && agent->cut_total() != cuts_seen_) look_whether_orphan();
#endif
}

// The agent looks by itself while it finds something, and again whenever the holder has answered: it is told when it has ceased to and nothing was on
// its way.
void EngineImpl::tell_own_events() {
  if (agent->looks_unasked() || told_end_ > agent->stable().events) return;
  told_end_ = past_events_ + log_->published(job.rank_count);
  agent->tell(wire::BootstrapKind::determined);
}

// Somebody waits until they are stable.
void EngineImpl::hurry_own_events() {
  const std::uint64_t end = past_events_ + log_->published(job.rank_count);
  if (told_end_ == end || agent->stable().events >= end) return;
  told_end_ = end;
  agent->tell(wire::BootstrapKind::determined);
}

// Before anything leaves that tells of this rank's state: what it determined is written, and on its way to the holder.
void EngineImpl::write_all() {
  flush_clock_reads();
  protocol.close_failed_run();
  persist_events();
  if (std::exchange(libc_events_wait_, false)) tell_own_events();
  look_at_dependencies();
}

// What the next message to this rank depends on, as far as it was not told yet: in the log and on the rail directly before it. A message that
// is not logged waits at the gate until it depends on nothing.
void EngineImpl::tell_dependencies(Peer& to) {
  write_all();
  if (!job.keeps_payloads || to.unprotected || !optimist_->vector().changed_since(to.dependencies_said)) return;
  std::vector<Dependency> list;
  optimist_->vector().take_changes(to.dependencies_said, list);
#ifdef HOLDFAST_MUTATE_DEPENDENCIES_NOT_TOLD
  return;
#endif
  constexpr std::size_t list_max = wire::dependencies_bytes_max / core::vprotocol::dependency_bytes;
  for (std::span<const Dependency> rest(list); !rest.empty();) {
    const auto now = rest.first(std::min(rest.size(), list_max));
    rest = rest.subspan(now.size());
    if (!reserve(to, now.size() * core::vprotocol::dependency_bytes)) return;  // it is unprotected by now
    send_dependencies(to, now);
  }
}

void EngineImpl::send_dependencies(Peer& to, std::span<const Dependency> list) {
  const int stream = to.rank.value;
  std::vector<std::byte> bytes;
  core::vprotocol::encode_dependencies(bytes, list);
  const Source source{bytes.data(), bytes.size(), nullptr, nullptr};
  FrameHeader header;
  header.kind = FrameKind::dependencies;
  header.flags = wire::flag_logged;
  header.incarnation = incarnation.value;
  header.source = job.self.value;
  header.length = bytes.size();
  const bool nothing_waits = has_offered_all(to);
  segment::Record record = log_->append(stream, header, [&](std::uint64_t offset, MutableBytes out) { fill_from(source, offset, out); });
  log_->publish(stream);
  ++counters().dependency_frames;
  counters().dependency_bytes += bytes.size();
  if (!nothing_waits || !ensure_open(to)) return;
  if (!to.local) return carry_dependencies(record, bytes);
  if (offer_record(to, record, &source)) to.out.sent = log_->appended(stream);
}

// To be sent in one write with the message that comes next. Should that not be offered now, both are taken from the log later.
void EngineImpl::carry_dependencies(const segment::Record& record, Bytes list) {
  FrameHeader h = record.header;
  h.check = 0;
  h.offset = record.chunk;
  ByteWriter out(dependencies_now_);
  out.put(h);
  out.put_bytes(list);
  carried_log_bytes_ += segment::padded(sizeof(h) + list.size());
  count_sent(list.size());
}

// Everything appended for this peer was offered to its channel, or goes with the message that is being sent.
bool EngineImpl::has_offered_all(const Peer& to) const {
  return to.out.sent + carried_log_bytes_ == log_->appended(to.rank.value) && to.out.queue.empty();
}

void EngineImpl::end_carrying() {
  dependencies_now_.clear();
  carried_now_.clear();
  carried_log_bytes_ = 0;
}

// What is stable is left out. When nothing is left the gate is open, and messages have nothing to say.
void EngineImpl::look_at_dependencies() {
  if (protocol.gate().open() && !optimist_->has_held()) return;
  if (const std::uint64_t news = agent->stable_news(); std::exchange(stable_news_seen_, news) != news && !optimist_->look()) end_as_orphan();
  const bool written = !protocol.has_events() && !protocol.has_failed_run() && !libc_events_wait_;
  // A run of failed tests that has begun since holds back nothing that was to leave before it.
  if (written) written_events_ = protocol.gate().events();
  if (optimist_->vector().empty()) protocol.gate().on_stable(written_events_);
  acknowledge_stable();
}

// Whether all that this rank determined and saw is stable: its end tells of all of it.
bool EngineImpl::depends_on_nothing() {
  look_at_dependencies();
  return protocol.gate().open() && optimist_->vector().empty() && !optimist_->has_held();
}

// The same of what the program does outside MPI.
bool EngineImpl::is_independent() {
  look_at_cuts();
  look_at_dependencies();
  return protocol.gate().open() && optimist_->vector().empty();
}

// ---- acknowledgements of synchronous messages: they wait until what the rank depended on then is stable

// False: it is kept until then.
bool EngineImpl::may_acknowledge(Peer& to, const FrameHeader& header) {
  write_all();
#ifdef HOLDFAST_MUTATE_ACKNOWLEDGE_UNSTABLE
  return true;
#endif
  if (optimist_->offer(acknowledged_)) return true;
  acknowledgements_.push_back({&to, header});
  ++acknowledged_;
  hurry_own_events();
  return false;
}

void EngineImpl::acknowledge_stable() {
  for (core::vprotocol::Effects::Token token; optimist_->poll_released(token);) {
    HF_CHECK(!acknowledgements_.empty());
    const Acknowledgement next = acknowledgements_.front();
    acknowledgements_.pop_front();
    send_acknowledgement(*next.to, next.header);
  }
}

// ---- what others' messages depend on

// The program is about to see this message of the peer.
void EngineImpl::see(Peer& from, std::uint64_t number) {
#ifdef HOLDFAST_MUTATE_NOT_MERGED
  return;
#endif
  if (!from.in.depends.has_for(number)) return;
  flush_clock_reads();
  protocol.close_failed_run();
  if (!optimist_->on_seen(from.in.depends, number, protocol)) end_as_orphan();
  if (!protocol.has_events()) return;
  protocol.gate().on_event();
  if (!in_rails_) persist_events();  // else once for all that one look at the rails has brought
}

// False: it is not taken, nor what follows it. Its sender depends on what is lost, or on what the board does not tell of yet.
bool EngineImpl::take_dependencies(Peer& from, Incarnation sender, Bytes payload) {
  std::vector<Dependency> list;
  if (!core::vprotocol::decode_dependencies(payload, job.rank_count, list)) abort(1, "a peer depends on what there is not; its log was overwritten");
  for (const Dependency& d : list) {
    const Cuts::Verdict verdict = optimist_->cuts().verdict(d);
    if (verdict == Cuts::Verdict::lost) return refuse(from, sender), false;
    if (verdict == Cuts::Verdict::unknown) return from.in.feeding = from.in.behind = true, false;
  }
  from.in.depends.on_dependencies(from.in.taken, sender, list);
  return true;
}

// Nothing more is taken of this incarnation of the peer, by whatever way it comes: the next one sends again what it sent.
void EngineImpl::refuse(Peer& from, Incarnation sender) {
  Incoming& in = from.in;
  in.refused_below = std::max(in.refused_below, sender.value + 1);
  in.feeding = true;
  in.reader.reset();
  in.depends.forget_from(in.taken);  // of messages that have not come
  cancel_question(from);
  if (in.is_refused()) in.waiting.clear();
  else take_again(from);
}

// The newer incarnation is here, and may have sent it again already, when it was dropped as known: all that it has sent is taken from its log once
// more. What its channel brings goes on behind that.
void EngineImpl::take_again(Peer& from) {
  Incoming& in = from.in;
  if (in.fed == from.incarnation) in.opening = std::max(in.opening, in.cursor);
  in.fed = std::max(from.log_base, Incarnation{in.refused_below});
  in.cursor = 0;
  in.ask_again_at = 0;
  in.exhausted = in.behind = false;
  ++in.begun_again;
}

// ---- cuts

// With each new cut, before anything else is looked at.
void EngineImpl::look_at_cuts() {
  const std::uint64_t total = agent->cut_total();
  if (total == cuts_seen_) return;
  cuts_seen_ = total;
  load_cuts(optimist_->cuts());
  for (auto& p : peers) {
    if (auto lost = p->in.depends.first_lost(optimist_->cuts())) take_out(*p, lost->first, lost->sender);
  }
  if (!optimist_->look()) end_as_orphan();
}

// The rank has just recorded a dependency. What is queued is looked at later.
void EngineImpl::look_whether_orphan() {
  CutTable cuts;
  load_cuts(cuts);
  for (const Dependency& d : optimist_->vector().entries()) {
    if (cuts.verdict(d) == Cuts::Verdict::lost) end_as_orphan();
  }
}

// Messages of the peer from this one on, which nobody has seen, are as if they had never come.
void EngineImpl::take_out(Peer& from, std::uint64_t first, Incarnation sender) {
  refuse(from, sender);
  from.in.depends.forget_from(first);
  contexts.each([&](Context, ContextState& state) { take_out(from, first, state); });
}

void EngineImpl::take_out(Peer& from, std::uint64_t first, ContextState& state) {
  ContextPeer& arrivals = state.peer(from.rank);
  auto is_orphan = [&](const Message& m) { return m.source == from.rank && m.taken >= first; };
  auto forget = [&](Message& m) {
#ifndef HOLDFAST_MUTATE_COUNT_NOT_BACK
    arrivals.arrivals.forget(Sequence{m.header.sequence});
#endif
    take_back(from, arrivals, m);
    drop(m);
  };
  auto& unexpected = state.matcher.unexpected();
  for (core::match::Arrived* m = unexpected.first(); m;) {
    Message& message = static_cast<Message&>(*m);
    m = unexpected.after(*m);
    if (!is_orphan(message)) continue;
    unexpected.remove(message);
    forget(message);
  }
  auto& numbered = arrivals.numbered_arrived;
  for (Message* m = numbered.first(); m;) {
    Message& message = *m;
    m = numbered.after(*m);
    if (!is_orphan(message)) continue;
    numbered.remove(message);
    forget(message);
  }
  std::erase_if(arrivals.early, [&](const auto& early) {
    if (!is_orphan(*early.second)) return false;
    take_back(from, arrivals, *early.second);
    drop(*early.second);
    return true;
  });
}

// The agent ends this process once it has seen what this one has, and starts the rank from before.
void EngineImpl::end_as_orphan() {
  // The agent looks at what is written.
  if (!std::exchange(ends_as_orphan_, true)) persist_events();
  agent->tell(wire::BootstrapKind::orphaned);
  while (!agent->closed()) {
    pollfd look{agent->descriptor(), 0, 0};
    ::poll(&look, 1, -1);
  }
  ::_exit(1);
}

}  // namespace hf::engine
