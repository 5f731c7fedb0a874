#include "sim/job/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/job/random.hpp"

namespace hf::sim::job {
namespace {

std::string name_of(const Life& life) { return fmt::format("rank {} ({})", life.rank.value, life.incarnation.value); }

}  // namespace

Checker::Checker(int ranks, bool optimistic, bool lineage)
    : ranks_(static_cast<std::size_t>(ranks)),
      optimistic_(optimistic),
      lineage_(optimistic && lineage ? ranks : 0, [this](std::string text) { violation(std::move(text)); }) {}

void Checker::note(std::string text) {
  constexpr std::size_t enough = 20;
  if (violations_.size() < enough) violations_.push_back(std::move(text));
}

Life& Checker::on_start(Rank rank, Incarnation incarnation, Term term, std::uint64_t home, Bytes stream) {
  auto& life = *of(rank).lives.emplace_back(std::make_unique<Life>());
  life.rank = rank;
  life.incarnation = incarnation;
  life.term = term;
  life.home = home;
  of(rank).newest = std::max(of(rank).newest, incarnation);
  if (optimistic_) life.lineage = lineage_.on_start(rank, term, stream);
  return life;
}

Life& Checker::life(Rank rank, Incarnation incarnation) {
  auto& lives = of(rank).lives;
  auto at = std::find_if(lives.rbegin(), lives.rend(), [&](const auto& life) { return life->incarnation == incarnation; });
  return **at;
}

void Checker::on_died(Life& life) {
  auto& kept = of(life.rank).on_node;
  if (life.seen.size() > kept.size()) kept = life.seen;
}

// Under optimist the cut says what is left.
void Checker::on_node_lost(Rank rank) {
  if (!optimistic_) of(rank).on_node.clear();
}

void Checker::on_cut(Rank rank, Term term, std::uint64_t position, bool more) {
  const std::size_t repeated = lineage_.on_cut(rank, term, position, more);
  of(rank).stored.on_cut(term, position);
  RankState& state = of(rank);
  if (!state.lives.empty() && state.lives.back()->seen.size() > state.on_node.size()) state.on_node = state.lives.back()->seen;
  if (state.on_node.size() > repeated) state.on_node.resize(repeated);
}

void Checker::on_finished(Life& life, std::uint64_t result) {
  if (optimistic_) {
    lineage_.on_effect(lineage_.snapshot(life.lineage), name_of(life) + ": its end");
    show(life, life.seen.size());
  }
  life.finished = true;
  life.result = result;
  of(life.rank).final = &life;
}

// ---- calls of the program

void Checker::observe(Life& life, std::uint64_t what) {
  const std::size_t at = life.seen.size();
  life.seen.push_back(mix(at == 0 ? 1 : life.seen.back(), what));
  const RankState& state = of(life.rank);
  // What runs on a node that was declared lost, not knowing it, may go another way, as long as nobody hears of it.
  if (life.incarnation < state.newest) return;
  auto differs = [&](const std::vector<std::uint64_t>& before) { return at < before.size() && before[at] != life.seen[at]; };
  if (differs(state.shown)) {
    violation(fmt::format("{}: observation {} is not what others have seen the consequences of", name_of(life), at));
  }
  if (differs(state.on_node)) violation(fmt::format("{}: observation {} is not that of the incarnation before", name_of(life), at));
}

std::uint32_t Checker::on_send(Life& life, Rank to, Context context, MessageTag tag, std::uint64_t value) {
  auto number = static_cast<std::uint32_t>(life.sends.size());
  life.sends.push_back({to, context, tag, {value, number}, life.seen.size(), life.determined.size()});
  return number;
}

std::uint32_t Checker::on_post(Life& life, Rank source, Context context, MessageTag tag) {
  life.posts.push_back({source, context, tag, life.requests++});
  return static_cast<std::uint32_t>(life.posts.size() - 1);
}

std::uint32_t Checker::on_taken_by_test(Life& life, Rank from, Context context, MessageTag tag) {
  life.posts.push_back({from, context, tag});
  return static_cast<std::uint32_t>(life.posts.size() - 1);
}

void Checker::on_received(Life& life, std::uint32_t post, Rank from, MessageTag tag, const Payload& payload) {
  Life::Post& p = life.posts[post];
  if (p.received) violation(fmt::format("{}: receive {} completes twice", name_of(life), post));
  p.received = true;
  p.from = from;
  p.payload = payload;
  const bool accepted = (p.source == any_rank || p.source == from) && (p.tag == any_tag || p.tag == tag);
  if (!accepted) {
    violation(fmt::format("{}: receive {} takes a message of rank {} that it does not accept", name_of(life), post, from.value));
  }
  if (p.source == any_rank) life.determined.push_back({Life::Determinant::match, p.number});
  observe(life, mix(mix(static_cast<std::uint64_t>(from.value), payload.send), payload.value));
}

void Checker::on_step_sent(Life& life, std::uint32_t send, const Frame& frame) {
  Life::Send& s = life.sends[send];
  s.tag = frame.tag;
  s.payload.value = frame.payload.value;
  s.seen = life.seen.size();
  s.determined = life.determined.size();
}

void Checker::on_step_received(Life& life, std::uint32_t post, Rank from, const Payload& payload) {
  Life::Post& p = life.posts[post];
  if (p.received) violation(fmt::format("{}: a collective's receive {} completes twice", name_of(life), post));
  p.received = true;
  p.from = from;
  p.payload = payload;
}

void Checker::on_test(Life& life, std::span<const std::int32_t> found) {
  const std::uint64_t clock = ++life.tests;
  life.determined.push_back({found.empty() ? Life::Determinant::failed : Life::Determinant::delivery, clock});
  std::uint64_t what = found.size();
  for (std::int32_t index : found) what = mix(what, static_cast<std::uint64_t>(index));
  observe(life, what);
}

void Checker::on_time(Life& life, double time) {
  life.determined.push_back({Life::Determinant::time, std::bit_cast<std::uint64_t>(time)});
  observe(life, std::bit_cast<std::uint64_t>(time));
}

void Checker::on_probed(Life& life, std::uint32_t post, Rank from, MessageTag tag) {
  const Life::Post& p = life.posts[post];
  const bool accepted = (p.source == any_rank || p.source == from) && (p.tag == any_tag || p.tag == tag);
  if (!accepted) violation(fmt::format("{}: probe {} finds a message of rank {} that it does not accept", name_of(life), post, from.value));
  if (p.source == any_rank) life.determined.push_back({Life::Determinant::match, p.number});
  observe(life, mix(static_cast<std::uint64_t>(from.value), static_cast<std::uint64_t>(tag.value)));
}

void Checker::on_cancel(Life& life, std::uint32_t post, bool cancelled) {
  life.determined.push_back({Life::Determinant::cancel, life.posts[post].number});
  observe(life, cancelled);
}

// ---- below

void Checker::on_stored(Rank rank, int place, Term term, std::uint64_t end, Bytes events, TestClock last_failed) {
  StoredEvents& stored = of(rank).stored;
  if (!optimistic_) return stored.on_stored(place, end - events.size(), events, last_failed);
  const std::uint64_t stable = stored.on_extent(place, term, end);
  lineage_.on_stable(rank, stored.term(), stable);
}

void Checker::on_wanted(Rank rank, Term term, const StoredEvents::Wanted& wanted) {
  StoredEvents& stored = of(rank).stored;
  stored.want(term, wanted);
  if (optimistic_) lineage_.on_stable(rank, stored.term(), stored.stable_end());
}

bool Checker::is_stable(const RankState& state, const Life::Determinant& determinant) const {
  using Kind = StoredEvents::Kind;
  switch (determinant.kind) {
    case Life::Determinant::match: return state.stored.has(Kind::match, determinant.key);
    case Life::Determinant::delivery: return state.stored.has(Kind::delivery, determinant.key);
    case Life::Determinant::failed: return state.stored.has_failed(determinant.key);
    case Life::Determinant::time: return state.stored.has(Kind::time, determinant.key);
    case Life::Determinant::cancel: return state.stored.has(Kind::cancel, determinant.key);
  }
  return false;
}

void Checker::require_stable(Life& life, std::size_t count, const char* what) {
  const RankState& state = of(life.rank);
  while (life.stable < count && is_stable(state, life.determined[life.stable])) ++life.stable;
  if (life.stable >= count) return;
  violation(fmt::format("{}: {} leaves before determinant {} of {} is stable", name_of(life), what, life.stable, count));
  life.stable = count;
}

void Checker::show(Life& life, std::size_t count) {
  auto& shown = of(life.rank).shown;
  if (count == 0) return;
  const std::size_t common = std::min(count, shown.size());
  if (common > 0 && shown[common - 1] != life.seen[common - 1]) {
    violation(fmt::format("{}: sends what does not follow from what others have seen of the rank", name_of(life)));
  }
  if (count > shown.size()) shown.insert(shown.end(), life.seen.begin() + static_cast<std::ptrdiff_t>(shown.size()),
                                         life.seen.begin() + static_cast<std::ptrdiff_t>(count));
}

void Checker::on_left(Rank rank, Incarnation incarnation, std::uint32_t send) {
  Life& sender = life(rank, incarnation);
  const Life::Send& s = sender.sends[send];
  if (optimistic_) return;
  require_stable(sender, s.determined, "a message");
  show(sender, s.seen);
}

void Checker::on_acknowledged(Rank rank, Incarnation incarnation, std::size_t seen, std::size_t determined, SnapshotId state) {
  Life& receiver = life(rank, incarnation);
  if (optimistic_) lineage_.on_effect(state, name_of(receiver) + ": an acknowledgement");
  else require_stable(receiver, determined, "an acknowledgement");
  show(receiver, seen);
}

// Once, in order; what a later incarnation prints again is what was printed.
void Checker::on_output(Rank rank, Incarnation incarnation, const Output& output) {
  Life& printer = life(rank, incarnation);
  auto& outputs = of(rank).outputs;
  lineage_.on_effect(output.state, name_of(printer) + ": output");
  show(printer, output.seen);
  if (output.number > outputs.size()) return violation(name_of(printer) + ": output is missing");
  if (output.number == outputs.size()) return outputs.push_back(output.value);
  if (outputs[output.number] == output.value) return;
  violation(fmt::format("{}: output {} is not what was printed before", name_of(printer), output.number));
}

// ---- sums of what was taken

// Of ranks that are lost together nothing is compared.
Differences* Checker::differences(Life& life, Rank from, const Frame& frame) {
  if (!expects_differences_ || this->life(from, frame.incarnation).home == life.home) return nullptr;
  return &life.taken[{from, frame.context}];
}

void Checker::on_arrived(Life& life, Rank from, const Frame& frame) {
  if (Differences* d = differences(life, from, frame)) d->on_arrived(frame, this->life(from, frame.incarnation).term);
}

void Checker::on_payload(Life& life, Rank from, const Frame& frame, std::uint64_t value) {
  if (Differences* d = differences(life, from, frame)) d->on_payload(frame.sequence, value);
}

void Checker::on_large_again(Life& life, Rank from, const Frame& frame, bool has_payload) {
  if (Differences* d = differences(life, from, frame)) d->on_large_again(frame, this->life(from, frame.incarnation).term, has_payload);
}

void Checker::on_taken_back(Life& life, Rank from, const Frame& frame) {
  if (Differences* d = differences(life, from, frame)) d->on_taken_back(frame.sequence);
}

void Checker::on_reported(Life& life, Rank from, Context context, Sequence first, Sequence last, bool envelope) {
  auto at = life.taken.find({from, context});
  if (at != life.taken.end() && at->second.has(first, last, envelope)) return;
  note(fmt::format("{}: reports messages {} to {} of rank {} in context {}, which are what they were", name_of(life), first.value,
                   last.value, from.value, context.value));
}

void Checker::require_reported(const Life& life) {
  for (const auto& [channel, differences] : life.taken) {
    if (!differences.is_due()) continue;
    note(fmt::format("{}: rank {} has sent something else in context {}, and nobody has said so", name_of(life), channel.first.value,
                     channel.second.value));
  }
}

// ---- the end

std::vector<std::uint64_t> Checker::results() const {
  std::vector<std::uint64_t> out;
  for (const RankState& state : ranks_) out.push_back(state.final ? state.final->result : 0);
  return out;
}

// What each rank's last life was given is what the last lives of the others sent, each message once, in order as far as
// receives could tell.
void Checker::at_end() {
  for (const RankState& state : ranks_) {
    for (const auto& life : state.lives) require_reported(*life);
  }
  if (diverged_) return;
  for (const RankState& state : ranks_) {
    if (optimistic_ && state.final) lineage_.require_good(state.final->lineage, name_of(*state.final));
  }
  std::vector<Channel> sent(ranks_.size());  // by receiver
  for (const RankState& state : ranks_) {
    if (!state.final) continue;
    for (const Life::Send& s : state.final->sends) sent[static_cast<std::size_t>(s.to.value)][{state.final->rank, s.context}].push_back(&s);
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].final) check_received(*ranks_[i].final, sent[i]);
  }
}

void Checker::check_received(const Life& life, const Channel& sent) {
  std::map<std::pair<Rank, Context>, std::vector<bool>> taken;
  std::size_t count = 0, all = 0;
  for (const auto& [channel, sends] : sent) {
    taken[channel].resize(sends.size());
    all += sends.size();
  }
  std::map<std::pair<Rank, Context>, std::size_t> first;  // all before are taken
  for (std::size_t n = 0; n < life.posts.size(); ++n) {
    const Life::Post& post = life.posts[n];
    if (!post.received) continue;
    auto at = sent.find({post.from, post.context});
    const std::size_t sends = at == sent.end() ? 0 : at->second.size();
    std::size_t& begin = first[{post.from, post.context}];
    auto& mine = taken[{post.from, post.context}];
    while (begin < sends && mine[begin]) ++begin;
    std::size_t i = begin;
    while (i < sends && (mine[i] || (post.tag != any_tag && at->second[i]->tag != post.tag))) ++i;
    if (i == sends) {
      violation(fmt::format("{}: receive {} takes a message of rank {} that was not sent, or came before", name_of(life), n,
                            post.from.value));
      return;
    }
    const Payload& expected = at->second[i]->payload;
    if (expected.send != post.payload.send || expected.value != post.payload.value) {
      violation(fmt::format("{}: receive {} takes send {} of rank {}, not send {}, or another payload", name_of(life), n,
                            post.payload.send, post.from.value, expected.send));
      return;
    }
    mine[i] = true;
    ++count;
  }
  if (count != all) violation(fmt::format("{}: {} of {} messages were received", name_of(life), count, all));
}

}  // namespace hf::sim::job
