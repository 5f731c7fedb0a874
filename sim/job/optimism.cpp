// Process: what optimistic logging adds (docs/optimist.md): the board's cuts and stable vector, what messages depend on, what waits.
#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::vprotocol::Cuts;
using core::vprotocol::Dependency;

void Process::begin_optimist() {
  look_at_board(true);
  optimist_.begin(node_.term(self_), node_.stream(self_));
  if (!optimist_.look()) stop();
}

// ---- the board

// The first look may miss what is being written; the second one, after this process has written something itself, does not.
void Process::look_at_board(bool second) {
  if (!optimistic_ || dead_) return;
  const bool cut = node_.read_cuts(cuts_seen_, second, optimist_.cuts());
  const bool told = node_.known_stable().stamp() > std::exchange(stable_seen_, node_.known_stable().stamp());
  if (!cut && !told) return;
  if (told) spend(&Costs::acknowledged_ns);
  if (!optimist_.look()) return stop();
  if (cut) drop_orphans();
  release_effects();
}

// In the order of ranks.
void Process::drop_orphans() {
  for (auto at = noted_.begin(); at != noted_.end();) {
    Peer& p = peer(*at);
    drop_orphans(p);
    at = p.incoming.empty() ? noted_.erase(at) : std::next(at);
  }
  for (const Rank rank : std::exchange(halted_, {})) {
    Peer& p = peer(rank);
    take_early(p);
    if (!dead_) feed(p);
    if (!p.early.empty()) halted_.insert(rank);
  }
}

// An orphan goes no further. Its agent looks at what is written, as the engine's end_as_orphan() knows.
void Process::stop() {
  if (!HF_MUTATED(STOPS_UNWRITTEN)) persist_events();
  if (std::exchange(dead_, true)) return;
  node_.on_stopped(self_, incarnation_);
}

// ---- what messages depend on

// Whether the board knows of the incarnation and of all terms that it names.
bool Process::know(const Frame& frame, const Peer& from) const {
  if (HF_MUTATED(AHEAD_OF_THE_BOARD)) return true;
  if (frame.incarnation > from.known.incarnation) return false;
  if (!frame.dependencies) return true;
  std::vector<Dependency> list;
  core::vprotocol::decode_dependencies(*frame.dependencies, ranks(), list);
  return std::ranges::none_of(list, [this](const Dependency& d) { return optimist_.cuts().verdict(d) == Cuts::Verdict::unknown; });
}

void Process::take_early(Peer& from) {
  while (!from.early.empty() && !dead_ && know(from.early.front().frame, from)) {
    const Peer::Early early = std::move(from.early.front());
    from.early.pop_front();
    on_known_frame(from, early.connection, early.frame);
  }
}

void Process::take_dependencies(Peer& from, const Frame& frame) {
  std::vector<Dependency> list;
  if (!core::vprotocol::decode_dependencies(*frame.dependencies, ranks(), list)) return diverged("dependencies that cannot be");
  const auto& cuts = optimist_.cuts();
  if (std::ranges::any_of(list, [&](const Dependency& d) { return cuts.verdict(d) == Cuts::Verdict::lost; })) {
    from.orphaned = frame.incarnation;
    return;
  }
  from.incoming.on_dependencies(from.taken, frame.incarnation, list);
  noted_.insert(from.rank);
}

// Messages of an orphan leave the queue, and count as not come.
void Process::drop_orphans(Peer& from) {
  if (HF_MUTATED(KEEP_ORPHANS)) return;
  const auto lost = from.incoming.first_lost(optimist_.cuts());
  if (!lost) return;
  from.orphaned = HF_MUTATED(REFUSE_THE_NEWEST) ? from.known.incarnation : std::max(from.orphaned.value_or(lost->sender), lost->sender);
  if (from.fed > *from.orphaned) take_again(from);
  const std::uint64_t first = lost->first;
  from.incoming.forget_from(first);
  for (auto& [id, state] : contexts_) {
    auto& queue = state.matcher.unexpected();
    ContextPeer& arrivals = state.peers[from.rank];
    std::vector<Message*> gone;
    for (auto* m = queue.first(); m; m = queue.after(*m)) {
      Message& message = static_cast<Message&>(*m);
      if (message.source == from.rank && message.number >= first) gone.push_back(&message);
    }
    for (Message* m : gone) {
      state.matcher.take(*m);
      arrivals.arrivals.forget(m->frame.sequence);
      drop(from, arrivals, *m);
    }
    std::erase_if(arrivals.early, [&](auto& entry) {
      if (entry.second->number < first) return false;
      drop(from, arrivals, *entry.second);
      return true;
    });
    if (!HF_MUTATED(KEEP_NUMBERED_ORPHANS)) {
      std::erase_if(arrivals.numbered_arrived, [&](auto& entry) {
        if (entry.second->number < first) return false;
        arrivals.arrivals.forget(entry.first);
        drop(from, arrivals, *entry.second);
        return true;
      });
    }
  }
}

// As the engine's.
void Process::take_again(Peer& from) {
  if (HF_MUTATED(NOT_TAKEN_AGAIN)) return;
  if (from.fed == from.known.incarnation) from.opening = std::max(from.opening, from.cursor);
  from.fed = std::max(from.known.log_base, from.orphaned->next());
  from.cursor = 0;
  from.question = 0;
  from.exhausted = false;
  from.feeding = true;
  halted_.insert(from.rank);
}

void Process::drop(Peer& from, ContextPeer& arrivals, Message& m) {
  world_.count_orphaned();
  take_back(from, arrivals, m.frame);
  const MessageName name(m.frame);
  from.unfinished.erase(name);
  from.unlogged.erase(name);
  messages_.put(m);
}

// The program may see it from now on.
void Process::see(Message& m) {
  world_.checker().lineage().on_matched(life_.lineage, m.frame.payload.state, protocol_.events().size());
  if (HF_MUTATED(RECORD_LATE)) {
    core::vprotocol::Pessimist aside;
    optimist_.on_seen(peer(m.source).incoming, m.number, aside);
    return world_.at_process(*this, 20'000, [records = std::vector(aside.events().begin(), aside.events().end())](Process& p) {
      core::vprotocol::EventHead head;
      for (std::size_t at = 0; at < records.size(); at += sizeof(head)) {
        std::memcpy(&head, records.data() + at, sizeof(head));
        p.protocol_.append_dependency(core::vprotocol::dependency_of(head));
      }
      p.persist_events();
    });
  }
  if (!optimist_.on_seen(peer(m.source).incoming, m.number, protocol_)) stop();
}

// ---- sending

void Process::send_dependencies(Peer& to) {
  if (!optimist_.vector().changed_since(to.said)) return;
  std::vector<Dependency> list;
  optimist_.vector().take_changes(to.said, list);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  core::vprotocol::encode_dependencies(*bytes, list);
  Frame frame;
  frame.source = self_;
  frame.incarnation = incarnation_;
  frame.position = stream(to).records.size();
  frame.dependencies = std::move(bytes);
  stream(to).records.push_back(std::move(frame));
}

// It never waits.
void Process::send_optimistic(Peer& to, Request& request, Frame frame) {
  send_dependencies(to);
  Stream& own = stream(to);
  frame.position = own.records.size();
  own.records.push_back(frame);
  if (point()) return;
  publish(to, own.records.size());
  if (point()) return;
  if (HF_MUTATED(SEND_WAITS) && !optimist_.vector().empty()) return;
  await_match(to, request, frame);
  ensure_open(to);
  pump(to);
  point();
}

void Process::send_matched(Peer& to, Frame frame) {
  settle();
  if (dead_) return;
  frame.payload.state = world_.checker().lineage().snapshot(life_.lineage);
  effects_[++tokens_] = {.to = &to, .frame = frame};
  if (HF_MUTATED(MATCHED_AT_ONCE)) return pass(tokens_);
  if (offer(tokens_)) pass(tokens_);
}

// ---- what leaves the job

void Process::print(std::uint64_t value) {
  if (!optimistic_ || dead_) return;
  settle();
  if (dead_) return;
  Checker::Output output{world_.checker().on_print(life_), value, life_.seen.size(), world_.checker().lineage().snapshot(life_.lineage)};
  effects_[++tokens_].output = output;
  if (HF_MUTATED(OUTPUT_AT_ONCE)) return pass(tokens_);
  if (offer(tokens_)) pass(tokens_);
}

// The state, as of now, must be stored: settle() came before.
bool Process::offer(std::uint64_t token) { return !dead_ && optimist_.offer(token); }

void Process::release_effects() {
  for (core::vprotocol::Effects::Token token; !dead_ && optimist_.poll_released(token);) pass(token);
}

void Process::pass(std::uint64_t token) {
  Effect effect = std::move(effects_.at(token));
  effects_.erase(token);
  if (effect.is_end) {
    finished_ = true;
    return world_.on_finished(*this, program_.result());
  }
  if (!effect.to) return world_.on_output(*this, effect.output);
  Stream& own = stream(*effect.to);
  effect.frame.position = own.records.size();
  own.records.push_back(effect.frame);
  publish(*effect.to, own.records.size());
  ensure_open(*effect.to);
  pump(*effect.to);
}

}  // namespace hf::sim::job
