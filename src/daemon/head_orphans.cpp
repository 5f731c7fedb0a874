// Protocol optimist: where hostings of ranks begin, told to all before anything of them, and ranks that depend on what was lost by that
// (docs/optimist.md).
#include <fmt/format.h>

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

// False: the boards have no room for another one, and the job ends.
bool Head::announce_cut(const EventsCut& cut) {
  if (++hosting(cut.rank).cuts > wire::board_cuts_max) {
    output_.say(fmt::format("rank {} began anew {} times: more cannot be told apart (--protocol optimist); the job ends", cut.rank,
                            wire::board_cuts_max + 1));
    end(1, 0);
    return false;
  }
  agents_.send_all(ControlKind::events_cut, cut);
  return true;
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
  Hosting& h = hosting(orphan.rank);
  if (h.agent != agent || h.term != orphan.term) return;
  if (orphan.position > wire::board_position_max) return lose_agent(agent, "it said what cannot be");
  if (const auto& reason = rank_unprotected_[static_cast<std::size_t>(orphan.rank)]) {
    output_.say(fmt::format("rank {} depended on events that were lost, and was unprotected: {}; the job ends", orphan.rank,
                            why_unprotected(*reason)));
    return end(1, grace_ms);
  }
  if (!announce_cut({orphan.rank, h.term + 1, orphan.position})) return;
  revive(orphan.rank);
  agents_.send_all(ControlKind::board, BoardChange{orphan.rank, orphan.incarnation, wire::RankState::dead});
  ++h.term;
  h.incarnation = std::max(h.incarnation, orphan.incarnation) + 2;
  h.log_base = h.incarnation - 1;
  h.state = wire::RankState::absent;
  h.listens = {};
  keep(orphan.rank);
  timeline_.on_rolled_back(orphan.rank, orphan.incarnation);
  agents_.send(agent, ControlKind::roll_back, RollBack{orphan.rank, h.incarnation, h.term});
}

}  // namespace hf::daemon
