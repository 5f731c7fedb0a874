// Another head goes on for one that is lost (docs/head-loss.md): what this agent does meanwhile, and what it tells the new one.
#include "daemon/agent.hpp"
#include "os/process.hpp"

namespace hf::daemon {

// Ranks that were to be taken over are the new head's to place: it cannot know that they were given to this agent.
void Agent::on_head_lost() {
  adoptions_.clear();
  not_announced_.clear();
  found_.clear();
  if (keeper_) keeper_->give_up_fetch();
  loop_.cancel(cut_);
  cut_ = 0;
  if (!sides_.empty()) set_sides({});
}

void Agent::on_head_back() {
  head_.on_started();
  if (ending_) head_.on_ending();
  std::vector<std::byte> body;
  encode(report(), body);
  send_head_bytes(ControlKind::report, body);
  output_unconfirmed_ = 0;
  for (auto& rank : ranks_) {
    send_output_again(*rank, OutputStream::out);
    send_output_again(*rank, OutputStream::error);
    for (const auto& output : rank->unstable_output) output_unconfirmed_ += output.bytes.size();
  }
  if (output_paused_ && output_unconfirmed_ <= output_window() / 2) pause_output(false);
  for (const ToldEvent& told : told_) send_head(ControlKind::event, told.event, told.text);
  send_head_bytes(ControlKind::reported);
  for (auto& rank : ranks_) {
    if (rank->rolled_to && !rank->roll_back) tell_orphan(*rank);
  }
  if (!adopt_failure_.empty()) send_head_bytes(ControlKind::adopt_failed, bytes_of(adopt_failure_));
  if (!disk_failure_.empty()) send_head_bytes(ControlKind::disk_failed, bytes_of(disk_failure_));
  if (over_) send_head_bytes(ControlKind::gone);
}

AgentReport Agent::report() const {
  AgentReport out;
  out.head.logs = own_logs();
  os::machine_id().copy(out.head.machine, sizeof out.head.machine - 1);
  out.head.unfit = unfit_;
  out.head.ending = ending_;
  out.head.over = over_;
  out.head.input_bytes = input_.size();
  out.head.input_taken = input_taken_;
  out.head.input_ended = input_.ended();
  if (unfit_) return out;
  if (keeper_) out.head.generation = keeper_->generation().value;
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    const std::size_t at = static_cast<std::size_t>(rank);
    if (looked_up_[at]) out.sought.push_back(rank);
    if (const LocalRank* here = local(rank)) {
      out.hosted.push_back({rank, here->incarnation, here->term, hosting_[at].group, here->log_base});
    } else {
      out.heard.push_back({rank, board_.incarnation(rank)});
    }
  }
  return out;
}

void Agent::send_output_again(LocalRank& rank, OutputStream stream) {
  const auto& tail = stream == OutputStream::out ? rank.output_tail : rank.error_tail;
  OutputAgain again{{rank.rank, rank.incarnation, stream}, 0, tail->begin().lines, tail->begin().open_bytes};
  const Bytes bytes = bytes_of(tail->bytes());
  send_head(ControlKind::output_again, again, bytes);
  output_unconfirmed_ += bytes.size();
}

}  // namespace hf::daemon
