// Process: probes and cancels. As src/engine/replay.cpp (probe_wait, probe_test) and receive.cpp (cancel).
#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::vprotocol::Replay;
using Plan = core::vprotocol::Pessimist::CancelPlan;

Message* Process::peek(int in, Rank source, MessageTag tag) {
  return static_cast<Message*>(context(Context(static_cast<std::uint64_t>(in))).matcher.peek(source, tag));
}

// ---- a blocking probe, with or without taking the message

void Process::Probe::post() {
  Process& p = process_;
  posted_.source = from_ < 0 ? any_rank : Rank(from_);
  posted_.tag = tag_;
  posted_.any_source = from_ < 0;
  const Rank asked = posted_.source;
  post_ = p.world_.checker().on_post(p.life_, asked, Context(static_cast<std::uint64_t>(context_)), tag_);
  number_ = p.protocol_.on_post(posted_);
  if (!posted_.any_source && posted_.source != asked) p.diverged("a probe of another source");
  forced_ = posted_.any_source && posted_.source != any_rank;
  p.after_call();
}

// While it replays, one of any source sees only the recorded source, or nothing before the last determinant is consumed.
bool Process::Probe::ready() {
  if (!std::exchange(begun_, true)) post();
  if (posted_.mode == core::match::Mode::held && process_.replaying()) return false;
  found_ = process_.peek(context_, posted_.source, tag_);
  return found_ != nullptr;
}

Process::Found Process::Probe::await_resume() {
  Process& p = process_;
  Found out{found_->source, found_->tag, nullptr};
  if (take_) out.request = &p.requests_.get();  // of a process that dies here nothing becomes of it
  if (p.dead_) return out;
  if (p.optimistic_) p.see(*found_);
  if (p.dead_) return out;
  if (!HF_MUTATED(PROBE_NOT_LOGGED)) p.protocol_.on_match(number_, posted_.any_source, forced_, found_->source);
  p.persist_events();
  if (p.dead_) return out;
  p.world_.checker().on_probed(p.life_, post_, out.source, out.tag);
  if (take_) p.take_matched(*found_, *out.request, context_, number_, post_);
  return out;
}

// The matched probe's message, as a receive of its own.
void Process::take_matched(Message& m, Request& r, int in, RequestNumber number, std::uint32_t post) {
  r.source = m.source;
  r.tag = m.tag;
  r.number = number;
  r.context = Context(static_cast<std::uint64_t>(in));
  r.post = post;
  r.matched = true;
  context(r.context).matcher.take(m);
  if (m.frame.synchronous) acknowledge(peer(m.source), m.frame);
  if (!dead_) take_payload(r, m);
}

// ---- Iprobe: a completion test; its one index is the source found

bool Process::Iprobe::ready() {
  Process& p = process_;
  if (over_) return true;
  if (!std::exchange(begun_, true)) {
    const Replay::Test plan = p.protocol_.on_test();
    if (plan.kind == Replay::Test::diverged) p.diverged("a test that was not made");
    over_ = plan.kind == Replay::Test::nothing;
    if (plan.kind == Replay::Test::exactly) recorded_ = plan.which.empty() ? -1 : plan.which[0];
    else p.after_call();
  }
  if (over_) return true;
  Message* m = p.peek(context_, recorded_ >= 0 ? Rank(recorded_) : from_ < 0 ? any_rank : Rank(from_), tag_);
  if (recorded_ >= 0 && !m) return false;
  over_ = true;
  if (m && p.optimistic_) p.see(*m);
  if (p.dead_) return true;
  if (m) found_.push_back(m->source.value);
  message_ = m;
  if (recorded_ >= 0) return p.after_call(), true;
  if (HF_MUTATED(IMPROBE_NOT_LOGGED) && m && take_) return true;
  p.protocol_.on_test_result(found_);
  if (m) p.persist_events();
  else p.store_failed();
  return true;
}

std::optional<Process::Found> Process::Iprobe::await_resume() {
  Process& p = process_;
  if (!p.dead_) p.world_.checker().on_test(p.life_, found_);
  if (found_.empty()) return {};
  Found out{Rank(found_[0]), message_->tag, nullptr};
  if (!take_) return out;
  out.request = &p.requests_.get();  // of a process that dies here nothing becomes of it
  if (p.dead_) return out;
  // The number is nobody's: the test has said whose message it is.
  const Context in(static_cast<std::uint64_t>(context_));
  const std::uint32_t post = p.world_.checker().on_taken_by_test(p.life_, out.source, in, tag_);
  p.take_matched(*message_, *out.request, context_, {}, post);
  return out;
}

// ---- cancels

bool Process::Cancel::ready() {
  Process& p = process_;
  if (over_) return true;
  if (!std::exchange(begun_, true)) plan_ = p.protocol_.on_cancel(request_->number, request_->any_source);
  bool withdrawn = plan_ == Plan::cancelled;
  if (plan_ == Plan::free || plan_ == Plan::after_past) {
    if (plan_ == Plan::after_past && !p.has_past_of(request_->source)) return false;
    // What a predecessor has acknowledged it had matched before this call, whose outcome it did not record.
    if (!request_->any_source && p.holds_acknowledgement(request_->source)) return false;
    // A forced receive has a match on record, though its message may not have come again yet.
    withdrawn = !request_->matched && !request_->forced;
    p.protocol_.on_cancel_result(request_->number, withdrawn);
    p.persist_events();
  }
  over_ = true;
  outcome_ = withdrawn;
  if (p.dead_) return true;
  if (withdrawn) p.context(request_->context).matcher.withdraw(*request_);
  p.after_call();
  return true;
}

bool Process::Cancel::await_resume() {
  Process& p = process_;
  if (p.dead_) return outcome_;
  p.world_.checker().on_cancel(p.life_, request_->post, outcome_);
  if (outcome_) p.requests_.put(*request_);
  return outcome_;
}

// All that it had logged for us when this incarnation began.
bool Process::has_past_of(Rank source) {
  Peer& from = peer(source);
  if (from.past_taken) return true;
  from.feeding = true;
  feed(from);
  return from.past_taken;
}

bool Process::holds_acknowledgement(Rank to) const {
  return std::ranges::any_of(sent_before_, [to](const auto& entry) { return entry.first.first == to && entry.first.second.first; });
}

}  // namespace hf::sim::job
