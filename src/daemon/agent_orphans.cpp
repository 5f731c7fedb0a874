// Protocol optimist (docs/optimist.md): what is lost and what is stable, told to the ranks of this node; those that depend on what is lost are
// ended and start again from before; and what they print leaves when nothing can be lost any more that it depends on.
#include <fmt/format.h>

#include <algorithm>

#include "core/vprotocol/events.hpp"
#include "daemon/agent.hpp"

namespace hf::daemon {

using core::vprotocol::Cuts;
using core::vprotocol::Dependency;
using State = LocalRank::State;

namespace {

constexpr std::uint32_t term_max = UINT16_MAX;
constexpr std::uint64_t follow_bytes = 256 << 10;  // of a stream, before it is taken further: what a cut finds to read at most

}  // namespace

// ---- cuts

void Agent::on_events_cut(Bytes payload) {
  EventsCut cut;
  if (!optimist() || !read_struct(payload, cut) || cut.rank < 0 || cut.rank >= job_.rank_count() || cut.term > term_max ||
      cut.position > wire::board_position_max) {
    return on_head_gone();  // not our head
  }
  if (cuts_.of(Rank{cut.rank}).newest() >= Term{cut.term}) return;  // told again by another head
  if (!board_.add_cut(cut.rank, Term{cut.term}, cut.position)) return on_head_gone();
  cuts_.add(Rank{cut.rank}, Term{cut.term}, cut.position);
  ring_all();
  look_at_streams();
  for (auto& rank : ranks_) pass_stable_output(*rank);
  go_on_with_adoption(cut);
}

// Everybody has been told where the ranks begin that this agent takes over.
void Agent::go_on_with_adoption(const EventsCut& cut) {
  if (not_announced_.erase(Rank{cut.rank}) == 0 || !not_announced_.empty()) return;
  adopt(std::exchange(found_, {}), {});
}

void Agent::look_at_streams() {
  for (auto& rank : ranks_) look_at(*rank);
}

// Takes what the rank has written since, unless it is less than that. False: the stream is damaged.
bool Agent::follow_stream(LocalRank& rank, std::uint64_t at_least) {
  core::vprotocol::RecordedDependencies& recorded = rank.depends.recorded;
  if (segments_->event_extent(rank.rank).end < recorded.taken() + at_least) return true;
  const auto read = segments_->walk_events(rank.rank, recorded.taken(), UINT64_MAX, UINT64_MAX, [&](Bytes events) {
    recorded.take(events, cuts_);
    recorded.forget_stable(cuts_, stable_);
    on_busy();
  });
  if (!read) return on_damaged(Rank{rank.rank}), false;
  return true;
}

// True: it is an orphan. One whose end was told depends on nothing that can be lost.
bool Agent::look_at(LocalRank& rank) {
  if (!optimist() || ending_ || rank.rolled_to) return rank.rolled_to.has_value();
  if (rank.state == State::over && !rank.exit_untold && !rank.failure_untold) return false;
  if (!follow_stream(rank, 0)) return false;
  const auto lost = rank.depends.recorded.first_lost(cuts_);
  if (!lost) return false;
  rank.rolled_to = *lost;
  rank.exit_untold = rank.failure_untold = false;
  const segment::ControlView control = segments_->control(rank.rank, rank.incarnation);
  event(EventKind::rolled_back, rank, {0, control ? segment::load_acquire(control.header().call) : 0});
  tell_orphan(rank);
  if (rank.alive()) kill_rest(rank);  // it is concluded, and then rolled back, when all of it is dead
  else rank.state = State::orphaned;
  return true;
}

void Agent::tell_orphan(const LocalRank& rank) {
  send_head(ControlKind::orphan, Orphan{rank.rank, rank.incarnation, rank.term, 0, *rank.rolled_to});
}

// ---- starting an orphan anew

void Agent::on_roll_back(Bytes payload) {
  RollBack to;
  if (!read_struct(payload, to)) return on_head_gone();  // not our head
  LocalRank* rank = local(to.rank);
  if (!rank || !rank->rolled_to || to.term != rank->term + 1 || ending_) return;
  rank->roll_back = to;
  roll_back_if_ended(*rank);
}

// All its processes have ended, and the head has answered.
void Agent::roll_back_if_ended(LocalRank& rank) {
  if (rank.state == State::ending && rank.all_dead()) rank.state = State::orphaned;
  if (rank.state != State::orphaned || !rank.roll_back) return;
  const RollBack to = *std::exchange(rank.roll_back, std::nullopt);
  if (Result<> done = roll_back(rank, to); !done) {
    over(rank);
    return event_failed(rank, 1, done.error().text);
  }
  if (!look_at(rank)) start(rank);
}

// Its logs begin anew with the events that are left; who shares memory with it stays the same.
Result<> Agent::roll_back(LocalRank& rank, const RollBack& to) {
  const std::uint64_t cut = *std::exchange(rank.rolled_to, std::nullopt);
  board_.set_state(rank.rank, rank.incarnation, wire::RankState::dead);
  std::vector<std::byte> events;
  events.reserve(cut);
  const auto read = segments_->walk_events(rank.rank, 0, cut, cut, [&](Bytes piece) {
    events.insert(events.end(), piece.begin(), piece.end());
    on_busy();
  });
  if (read != cut) return fail(fmt::format("the event log of rank {} is damaged", rank.rank));
  rank.log_base = to.incarnation - 1;
  if (Result<> begun = segments_->roll_back(rank.rank, rank.log_base, events, [this] { on_busy(); }); !begun) return begun;
  drop_output(rank);
  rank.incarnation = to.incarnation;
  rank.term = to.term;
  rank.depends = {};
  set_place(rank.rank, ticket_.node, hosting_[static_cast<std::size_t>(rank.rank)].group, rank.log_base, own_logs());
  board_.set_events_term(rank.rank, Term{rank.term});
  keeper_->roll_back(Rank{rank.rank}, Term{rank.term}, cut);
  return {};
}

// ---- taking ranks over

void Agent::trim(Rank rank, EventKeeper::Found& found) { core::event_logger::keep(found, cuts_.of(rank).kept(found.term)); }

// Of ranks that are taken over together each one's beginning may be what another one's lacks.
void Agent::cut_found(std::map<Rank, EventKeeper::Found>& found) {
  for (bool again = true; again;) {
    again = false;
    core::vprotocol::CutTable cuts = cuts_;
    for (const AdoptedRank& rank : adoptions_.front().ranks) {
      std::vector<std::byte>& events = found[Rank{rank.rank}].bytes;
      events.resize(core::vprotocol::whole_events(events));
      cuts.add(Rank{rank.rank}, Term{rank.term}, events.size());
      on_busy();
    }
    for (auto& [rank, of] : found) {
      const auto lost = core::vprotocol::first_lost(of.bytes, cuts);
      on_busy();
      if (!lost) continue;
      core::event_logger::keep(of, *lost);
      again = true;
    }
  }
}

// ---- what is stable, and what waits for that

bool Agent::on_known(Rank rank, Term term, std::uint64_t position) {
  if (rank.value < 0 || rank.value >= job_.rank_count() || term.value > term_max || position > wire::board_position_max) return false;
  if (stable_.raise({rank, term, position})) board_.set_stable_of(rank.value, term, position);
  return true;
}

void Agent::on_news() {
  for (auto& here : ranks_) {
    pass_stable_output(*here);
    if (here->alive()) follow_stream(*here, follow_bytes);
  }
}

// What the rank depends on now, of others, and is not known to be stable.
std::vector<Dependency> Agent::unstable_dependencies(LocalRank& rank) {
  StreamDependencies& depends = rank.depends;
  if (!depends.vector) depends.vector.emplace(Rank{rank.rank});
  const auto read = segments_->walk_events(rank.rank, depends.looked_at, UINT64_MAX, UINT64_MAX, [&](Bytes events) {
    core::vprotocol::EventHead head;
    for (std::size_t at = 0; at < events.size(); at += core::vprotocol::encoded_bytes(head)) {
      std::memcpy(&head, events.data() + at, sizeof head);
      if (head.kind != core::vprotocol::EventKind::dependency) continue;
      const Dependency recorded = core::vprotocol::dependency_of(head);
      depends.vector->merge({&recorded, 1}, cuts_);
    }
    on_busy();
  });
  if (!read) return on_damaged(Rank{rank.rank}), std::vector<Dependency>();
  depends.looked_at = *read;
  if (!depends.vector->look(cuts_, stable_)) look_at(rank);
  return depends.vector->entries();
}

bool Agent::may_leave(LocalRank& rank, LocalRank::UnstableOutput& output) {
  if (!keeper_->stable(Rank{rank.rank}).covers(output.needs)) return false;
  std::erase_if(output.depends, [this](const Dependency& d) { return stable_.covers(cuts_.renewed(d)); });
#ifdef HOLDFAST_MUTATE_OUTPUT_BEFORE_STABLE
  return true;
#endif
  return output.depends.empty() && !rank.rolled_to;
}

}  // namespace hf::daemon
