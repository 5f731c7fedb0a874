// A head that goes on for a lost one (docs/head-loss.md): the agents tell it how things stand, and what they had told before; with what
// nobody speaks for any more it does as with a lost node.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/agent_report.hpp"
#include "daemon/head.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

// What was decided of a rank, before anybody is told. A place is added before another one goes: this process may be killed in between.
void Head::keep(int rank) {
  if (!facts_) return;
  const Hosting& h = hosting(rank);
  RankFacts& facts = facts_->rank(rank);
  facts.incarnation = h.incarnation;
  facts.term = h.term;
  facts.agent = h.agent;
  facts_->groups = groups_;
  for (int place : h.places) facts_->may_hold(rank, place) = true;
  facts.place_lost = h.place_lost;
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    if (std::ranges::find(h.places, agent) == h.places.end()) facts_->may_hold(rank, agent) = false;
  }
}

void Head::recall(int rank) {
  Hosting& h = hosting(rank);
  const RankFacts& facts = facts_->rank(rank);
  h.agent = facts.agent;
  h.incarnation = facts.incarnation;
  h.term = facts.term;
  h.place_lost = facts.place_lost;
  groups_ = facts_->groups;
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    if (facts_->may_hold(rank, agent)) h.places.push_back(agent);
  }
}

Result<> Head::resume() {
  auto marks = background_->resume();
  if (!marks) return std::unexpected(marks.error());
  for (const KeptMark& mark : *marks) output_.resume(mark);
  if (facts_->left) {  // only its last words were missing
    exit_code_ = facts_->exit_code;
    ending_ = ended_ = true;
    timeline_.on_end(os::now(), *exit_code_);
    loop_.at(os::now(), [this] { loop_.stop(); });
    return {};
  }
  output_.say(fmt::format("the head of this job was killed; another one goes on (number {})", epoch_ + 1));
  resuming_ = true;
  timeline_.on_lost_heads(epoch_);
  std::vector<bool> lost;
  for (int node = 0; node < job_.agent_count(); ++node) lost.push_back(facts_->lost(node));
  agents_.resume(lost);
  return {};
}

void Head::on_report(int node, Bytes payload) {
  auto report = decode_report(payload, job_.rank_count());
  AgentState& state = states_[static_cast<std::size_t>(node)];
  if (!report || !resuming_ || state.reported) return agents_.expel(node);  // not our agent
  logs_[static_cast<std::size_t>(node)] = report->head.logs;
  machines_[static_cast<std::size_t>(node)].assign(report->head.machine, ::strnlen(report->head.machine, sizeof report->head.machine));
  state.ready = true;
  state.unfit = report->head.unfit != 0;
  state.generation = report->head.generation;
  for (const HostedRank& hosted : report->hosted) on_hosted(node, hosted);
  for (const HeardRank& heard : report->heard) {
    if (!hosting(heard.rank).claimed) hosting(heard.rank).incarnation = std::max(hosting(heard.rank).incarnation, heard.incarnation);
  }
  for (std::int32_t rank : report->sought) hosting(rank).watchers.push_back(node);
  if (agent_of(0) == node && hosting(0).claimed && report->head.input_taken > 0) {
    input_taken_ = report->head.input_taken;
    input_lost_ = true;
  }
}

// A hosting of an older term was declared lost, and has not heard of it.
void Head::on_hosted(int node, const HostedRank& hosted) {
  Hosting& h = hosting(hosted.rank);
  if (hosted.term != h.term) {
    states_[static_cast<std::size_t>(node)].superseded = true;
    return;
  }
  h.claimed = true;
  h.agent = node;
  h.group = hosted.group;
  h.log_base = hosted.log_base;
  h.incarnation = hosted.incarnation;
  h.state = wire::RankState::absent;
  h.listens = {};
  watching_.on_moved(hosted.rank, node);
}

void Head::on_output_again(Bytes payload) {
  OutputAgain again;
  if (!resuming_ || !read_struct(payload, again) || again.head.rank < 0 || again.head.rank >= job_.rank_count()) return;
  const OutputStream stream = again.head.stream == OutputStream::error ? OutputStream::error : OutputStream::out;
  output_.resume_at(again.head.rank, stream, {again.lines, again.open_bytes});
  if (!payload.empty()) output_.on_bytes(again.head.rank, stream, payload);
}

void Head::on_reported(int node) {
  states_[static_cast<std::size_t>(node)].reported = true;
  resume_when_all_reported();
}

void Head::resume_when_all_reported() {
  if (!resuming_ || !agents_.all_joined()) return;
  for (int node = 0; node < job_.agent_count(); ++node) {
    const AgentState& state = states_[static_cast<std::size_t>(node)];
    if (agents_.joined(node) && !state.reported && !state.lost_early) return;
  }
  resume_over();
}

void Head::resume_over() {
  resuming_ = false;
  started_ = true;
  agents_.on_started();
  std::vector<int> missing;
  for (int node = 0; node < job_.agent_count(); ++node) {
    AgentState& state = states_[static_cast<std::size_t>(node)];
    if (agents_.joined(node) && !state.lost_early) continue;
    if (!state.lost_early) state.lost_early = "it did not come back to the new head";
    missing.push_back(node);
  }
  if (facts_->ending && !ending_) end(facts_->exit_code, 0);
  if (ending_) return take_leave(missing);
  for (int node = 0; node < job_.agent_count(); ++node) {
    const AgentState& state = states_[static_cast<std::size_t>(node)];
    if (state.superseded) agents_.expel(node);
    if (job_.keeps_events() && !state.superseded && !state.lost_early && !ranks_at(node).empty()) give_holder(node, -1);
  }
  for (int rank = 0; rank < job_.rank_count(); ++rank) publish(rank);
  for (int node : missing) {
    // The lost head has said so, and moved its ranks.
    if (facts_->lost(node) && ranks_at(node).empty()) on_agent_gone(node), watching_.on_node_lost(node);
    else lose_agent(node, *states_[static_cast<std::size_t>(node)].lost_early);
  }
  if (!ending_) start_unclaimed();
  if (ending_) return;
  start_input();
  watching_.start();
  if (facts_->kills_from_ns != 0) kills_.resume(Instant(facts_->kills_from_ns), os::now(), epoch_);
  else if (ranks_initialized_ == job_.rank_count()) kills_.start(os::now());
}

void Head::take_leave(const std::vector<int>& missing) {
  for (int node : missing) on_agent_gone(node);
}

// Ranks that the lost head gave to a living agent, which had not started them when it heard of no head any more.
void Head::start_unclaimed() {
  std::vector<int> ranks;
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    const Hosting& h = hosting(rank);
    if (!h.claimed && !h.moving) ranks.push_back(rank);
  }
  if (ranks.empty()) return;
  const auto targets = choose_targets(ranks);
  if (targets.empty()) {
    output_.say(fmt::format("ranks {} were to start again when the head was lost: {}; the job ends", fmt::join(ranks, ", "), why_no_target()));
    return end(1, 0);
  }
  for (const auto& [target, some] : targets) move_ranks(some, target);
}

}  // namespace hf::daemon
