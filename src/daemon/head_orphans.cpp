// Protocol optimist: where hostings of ranks begin, told to all before anything of them, and ranks that depend on what was lost by that
// (docs/optimist.md).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/head.hpp"
#include "daemon/unprotected.hpp"

namespace hf::daemon {

// A rank that had ended is started again.
void Head::revive(int rank) {
  if (!rank_over_[static_cast<std::size_t>(rank)]) return;
  rank_over_[static_cast<std::size_t>(rank)] = false;
  --ranks_over_;
  kills_.on_rank_again(rank);
}

// Where --inject head,point= may kill the first head of a job.
void Head::point(wire::HeadPoint passed) {
  if (epoch_ == 0) kills_.pass(passed.text);
}

// False: the boards have no room for another one, and the job ends.
bool Head::announce_cut(const EventsCut& cut) {
  const auto same = [&cut](const EventsCut& other) { return other.rank == cut.rank && other.term == cut.term; };
  if (std::ranges::none_of(cuts_, same)) {
    if (std::ranges::count(cuts_, cut.rank, &EventsCut::rank) == wire::board_cuts_max) {
      output_.say(fmt::format("rank {} began anew {} times: more cannot be told apart (--protocol optimist); the job ends", cut.rank,
                              wire::board_cuts_max + 1));
      end(1, 0);
      return false;
    }
    keep_cut(cut);
    point("cut.kept");
  }
  agents_.send_all(ControlKind::events_cut, cut);
  point("cut.told");
  return true;
}

// Before anybody is told; and its term before it: no other head gives that to another beginning.
void Head::keep_cut(const EventsCut& cut) {
  cuts_.push_back(cut);
  if (!facts_) return;
  facts_->announced_cuts()[cuts_.size() - 1] = cut;
  facts_->cut_count = static_cast<std::uint32_t>(cuts_.size());
}

void Head::recall_cuts() { cuts_.assign(facts_->announced_cuts(), facts_->announced_cuts() + facts_->cut_count); }

// The lost head may have told some of the agents only.
void Head::announce_all_again() {
  for (const EventsCut& cut : cuts_) agents_.send_all(ControlKind::events_cut, cut);
  for (const auto& [agent, orphan] : std::exchange(orphans_told_, {})) on_orphan(agent, std::as_bytes(std::span(&orphan, 1)));
}

// The agent starts the rank once it has heard of it from here, as all others have.
void Head::on_begun(int agent, Bytes payload) {
  EventsCut cut;
  if (!read_struct(payload, cut) || cut.rank < 0 || cut.rank >= job_.rank_count() || ending_) return;
  if (cut.position > wire::board_position_max) return lose_agent(agent, "it said what cannot be");
  const Hosting& h = hosting(cut.rank);
  if (h.agent == agent && h.term == cut.term) announce_cut(cut);
}

void Head::on_orphan(int agent, Bytes payload) {
  Orphan orphan;
  if (!read_struct(payload, orphan) || orphan.rank < 0 || orphan.rank >= job_.rank_count() || ending_) return;
  if (resuming_) return void(orphans_told_.emplace_back(agent, orphan));
  Hosting& h = hosting(orphan.rank);
  const bool decided = h.rolled_back_term == h.term && h.term == orphan.term + 1;  // by a head that is lost
  if (h.agent != agent || (!decided && h.term != orphan.term)) return;
  if (orphan.position > wire::board_position_max) return lose_agent(agent, "it said what cannot be");
  point("orphan.heard");
  if (!decided && !begin_rollback(orphan)) return;
  if (!announce_cut({orphan.rank, h.term, orphan.position})) return;
  revive(orphan.rank);
  agents_.send_all(ControlKind::board, BoardChange{orphan.rank, orphan.incarnation, wire::RankState::dead});
  agents_.send(agent, ControlKind::roll_back, RollBack{orphan.rank, h.incarnation, h.term});
  point("rollback.told");
}

bool Head::begin_rollback(const Orphan& orphan) {
  if (const auto& reason = rank_unprotected_[static_cast<std::size_t>(orphan.rank)]) {
    output_.say(fmt::format("rank {} depended on events that were lost, and was unprotected: {}; the job ends", orphan.rank,
                            why_unprotected(*reason)));
    end(1, grace_ms);
    return false;
  }
  Hosting& h = hosting(orphan.rank);
  h.rolled_back_term = ++h.term;
  h.incarnation = std::max(h.incarnation, orphan.incarnation) + 2;
  h.log_base = h.incarnation - 1;
  h.state = wire::RankState::absent;
  h.listens = {};
  keep(orphan.rank);
  point("rollback.kept");
  return true;
}

}  // namespace hf::daemon
