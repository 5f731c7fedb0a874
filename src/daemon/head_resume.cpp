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
  facts.whole_from = h.whole_from;
  facts.rolled_back_term = h.rolled_back_term;
  const AgentState& host = states_[static_cast<std::size_t>(h.agent)];
  facts.generation = host.generation;
  for (std::size_t copy = 0; copy < host.copies.size(); ++copy) {
    facts.copies[copy].generation = host.copies[copy].generation;
    facts.copies[copy].holder = host.copies[copy].holder;
  }
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
  h.whole_from = facts.whole_from;
  h.rolled_back_term = facts.rolled_back_term;
  AgentState& host = states_[static_cast<std::size_t>(h.agent)];
  host.generation = std::max<std::uint32_t>(host.generation, facts.generation);
  host.copies.clear();
  for (const RankFacts::Copy& copy : facts.copies) {
    if (copy.holder >= 0) host.copies.push_back({copy.holder, copy.generation, false});
  }
  groups_ = facts_->groups;
  if (facts.unprotected != 0) rank_unprotected_[static_cast<std::size_t>(rank)] = static_cast<wire::UnprotectReason>(facts.unprotected - 1);
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    if (facts_->may_hold(rank, agent)) h.places.push_back(agent);
  }
}

Result<> Head::resume() {
  auto marks = background_->resume();
  if (!marks) return std::unexpected(marks.error());
  for (const KeptMark& mark : *marks) output_.resume(mark);
  facts_->read = std::min<std::uint64_t>(facts_->read, background_->position());
  if (facts_->ending) exit_code_ = facts_->exit_code.load();
  if (facts_->input_ended) clients_->input().resume_ended();
  if (facts_->left) {  // only its last words were missing
    ending_ = ended_ = true;
    timeline_.on_end(os::now(), *exit_code_);
    loop_.at(os::now(), [this] { loop_.stop(); });
    return {};
  }
  output_.say(fmt::format("the head of this job was killed; another one goes on (number {})", epoch_ + 1));
  resuming_ = true;
  recall_cuts();
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
  state.generation = std::max(state.generation, report->head.generation);
  for (const HostedRank& hosted : report->hosted) on_hosted(node, hosted);
  for (const HeardRank& heard : report->heard) {
    if (!hosting(heard.rank).claimed) hosting(heard.rank).incarnation = std::max(hosting(heard.rank).incarnation, heard.incarnation);
  }
  for (std::int32_t rank : report->sought) hosting(rank).watchers.push_back(node);
  if (agent_of(0) != node || !hosting(0).claimed) return;
  input_taken_ = report->head.input_taken;
  input_fed_ = std::min(report->head.input_bytes, input_kept_.size());
  input_end_fed_ = report->head.input_ended != 0;
}

// A hosting of an older term was declared lost, and has not heard of it.
void Head::on_hosted(int node, const HostedRank& hosted) {
  Hosting& h = hosting(hosted.rank);
  // It is to be rolled back, and the agent has not heard of it: it asks again.
  const bool rolls_back = h.agent == node && h.rolled_back_term == h.term && hosted.term + 1 == h.term;
  if (hosted.term != h.term && !rolls_back) {
    states_[static_cast<std::size_t>(node)].superseded = true;
    return;
  }
  h.claimed = true;
  h.agent = node;
  h.group = hosted.group;
  h.log_base = rolls_back ? h.incarnation - 1 : hosted.log_base;
  if (!rolls_back) h.incarnation = hosted.incarnation;
  h.state = wire::RankState::absent;
  h.listens = {};
  watching_.on_moved(hosted.rank, node);
}

void Head::on_output_again(Bytes payload) {
  OutputAgain again;
  if (!resuming_ || !read_struct(payload, again) || again.head.rank < 0 || again.head.rank >= job_.rank_count()) return;
  const OutputStream stream = again.head.stream == OutputStream::error ? OutputStream::error : OutputStream::out;
  output_.resume_at(again.head.rank, stream, {again.lines, again.open_bytes});
  while (!payload.empty()) {  // as it would have come
    const Bytes piece = payload.first(std::min(payload.size(), output_read_bytes));
    output_.on_bytes(again.head.rank, stream, piece);
    payload = payload.subspan(piece.size());
  }
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
  std::vector<int> missing;
  for (int node = 0; node < job_.agent_count(); ++node) {
    AgentState& state = states_[static_cast<std::size_t>(node)];
    if (agents_.joined(node) && !state.lost_early) continue;
    if (!state.lost_early) state.lost_early = "it did not come back to the new head";
    missing.push_back(node);
  }
  if (facts_->ending && !ending_) end(facts_->exit_code, grace_ms);
  if (ending_) return take_leave(missing);
  for (int node : missing) lose_places(node);
  for (int node = 0; node < job_.agent_count(); ++node) {
    AgentState& state = states_[static_cast<std::size_t>(node)];
    if (state.superseded) agents_.expel(node);
    if (!job_.has_holders() || state.superseded || state.lost_early || ranks_at(node).empty()) continue;
    state.copies.clear();
    give_holders(node);
  }
  for (int rank = 0; rank < job_.rank_count(); ++rank) publish(rank);
  announce_all_again();
  if (ending_) return;
  for (int node : missing) {
    // The lost head has said so, and moved its ranks.
    if (ranks_at(node).empty()) on_agent_gone(node), watching_.on_node_lost(node);
    else lose_agent(node, *states_[static_cast<std::size_t>(node)].lost_early);
  }
  if (!ending_) start_unclaimed();
  if (ending_) return;
  start_input();
  feed_input();
  watching_.start();
  if (facts_->kills_from_ns != 0) kills_.resume(Instant(facts_->kills_from_ns), os::now(), epoch_);
  else if (ranks_initialized_ == job_.rank_count()) kills_.start(os::now());
}

void Head::take_leave(const std::vector<int>& missing) {
  for (int node : missing) on_agent_gone(node);
}

// Ranks that the lost head gave to a living agent, which had not started them when it heard of no head any more: to the same, if it is of use.
void Head::start_unclaimed() {
  std::map<int, std::vector<int>> targets;
  std::vector<int> all, others;
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    const Hosting& h = hosting(rank);
    if (h.claimed || h.moving) continue;
    all.push_back(rank);
    if (usable(h.agent)) targets[h.agent].push_back(rank);
    else others.push_back(rank);
  }
  if (all.empty()) return;
  std::string cannot = why_not_moved(all);
  for (auto& [target, some] : choose_targets(others)) targets[target].insert(targets[target].end(), some.begin(), some.end());
  if (cannot.empty() && targets.empty()) cannot = why_no_target();
  if (!cannot.empty()) {
    output_.say(fmt::format("rank{} {} {} to start again when the head was lost, and cannot: {}; the job ends", all.size() == 1 ? "" : "s",
                            fmt::join(all, ", "), all.size() == 1 ? "was" : "were", cannot));
    return end(1, 0);
  }
  for (int rank : all) mark_lost(rank);
  for (const auto& [target, some] : targets) move_ranks(some, target);
}

}  // namespace hf::daemon
