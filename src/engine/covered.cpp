// What a checkpoint of a rank covers, its senders forget (design rule 6; docs/segments.md): the receiver's side, and the sender's.
#include <algorithm>

#include "engine/engine_impl.hpp"

namespace hf::engine {

// Where that is not known, as far as the last time.
std::vector<Reached> EngineImpl::reached() {
  for (auto& p : peers) {
    Incoming& in = p->in;
#ifdef HOLDFAST_MUTATE_REACHED_WITHOUT_PAYLOADS
    in.reached = {in.fed, in.cursor};
    continue;
#endif
    if (const auto position = first_needed(*p)) in.reached = {in.fed, *position};
  }
  std::vector<Reached> out;
  for (auto& p : peers) out.push_back(p->in.reached);
  return out;
}

// Behind what has been taken, or the first message whose payload is still to be read. Nothing: it is in the log of an earlier incarnation, or in none.
std::optional<std::uint64_t> EngineImpl::first_needed(Peer& from) {
  const Incoming& in = from.in;
  if (!in.waiting.empty()) return {};
  std::uint64_t first = in.cursor;
  bool known = true;
  auto needs = [&](const FrameHeader& header) {
    known = known && header.incarnation == in.fed.value && (header.flags & wire::flag_logged);
    first = std::min(first, header.position);
  };
  for (const auto& [name, again] : in.again) needs(again.header);
  for (const auto& [name, m] : in.unlogged) needs(m->header);
  if (in.log_references > 0 || !in.receiving.empty()) {
    for (const Message* m : unfinished(from)) needs(m->header);
  }
  if (!known) return {};
  return first;
}

void EngineImpl::cover(std::span<const Reached> checkpoint) {
  if (!job.keeps_payloads || self_unprotected_) return;  // an unprotected rank tells by itself
  for (auto& p : peers) {
    const Reached& of = checkpoint[static_cast<std::size_t>(p->rank.value)];
    if (is_self(p->rank) || of.sender != p->incarnation) continue;  // what is no more is kept by its agent
    tell_log_done(*p, segment::inbound_word(of.sender, of.position));
  }
}

// Before this position of the peer's log nothing is needed any more.
void EngineImpl::tell_log_done(Peer& from, std::uint64_t word) {
  if (from.local) return segment::store_release(control.inbound(from.rank).log_done, word);
  if (from.in.log_done == word) return;
  from.in.log_done = word;
  if (from.in.open) tell_credit(from);  // else the first that it hears says so
}

// As the receiver has told it; 0: nothing, to this incarnation.
std::uint64_t EngineImpl::log_done_of(const Peer& to) const {
  std::uint64_t word = to.out.log_done;
  if (to.local) word = to.newest_log ? segment::load_acquire(to.newest_log->control().inbound(job.self).log_done) : 0;
  return segment::inbound_is_of(word, incarnation) ? word : 0;
}

// Room is short, or has to be looked at. Nothing is dropped that the rail still takes from the log.
void EngineImpl::drop_covered() {
  for (auto& p : peers) {
    const std::uint64_t word = log_done_of(*p), published = log_->published(p->rank.value);
    if (word == 0 || is_self(p->rank) || p->unprotected || borrowed(*p) || !p->out.transfers.empty()) continue;
    const std::uint64_t taken = published - ((published - word) & segment::taken_mask);
    log_->drop_before(p->rank.value, std::min(taken, p->out.sent));
  }
}

// Fault injection: as if a checkpoint of this rank, if it is one of those, had just been completed, and were the only one.
void EngineImpl::pretend_checkpoints() {
  if (covers_) cover(reached());
  drop_covered();
  counters().log_left = std::max(counters().log_left, log_->bytes_held());
}

}  // namespace hf::engine
