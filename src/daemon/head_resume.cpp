// A head that goes on for a lost one (docs/head-loss.md): the agents tell it how things stand, and what they had told before; with what
// nobody speaks for any more it does as with a lost node.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/agent_report.hpp"
#include "daemon/head.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

namespace {

void put_places(HeadFacts& facts, int rank, std::uint32_t number, const core::event_logger::Places& places) {
  const std::uint32_t shift = HeadFacts::place_bits * (number % 2);
  const auto mask = static_cast<std::uint8_t>((HeadFacts::settled_place | HeadFacts::begun_place) << shift);
  auto put = [&](const std::vector<int>& agents, std::uint8_t bit) {
    for (int agent : agents) facts.may_hold(rank, agent) |= static_cast<std::uint8_t>(bit << shift);
  };
  for (int agent = 0; agent < facts.agents; ++agent) facts.may_hold(rank, agent) &= static_cast<std::uint8_t>(~mask);
  put(places.settled(), HeadFacts::settled_place);
  put(places.begun(), HeadFacts::begun_place);
}

core::event_logger::Places places_of(HeadFacts& facts, int rank, std::uint32_t number) {
  std::vector<int> settled, begun;
  for (int agent = 0; agent < facts.agents; ++agent) {
    const unsigned bits = facts.may_hold(rank, agent) >> (HeadFacts::place_bits * (number % 2));
    if (bits & HeadFacts::settled_place) settled.push_back(agent);
    if (bits & HeadFacts::begun_place) begun.push_back(agent);
  }
  return {facts.rank(rank).decided[number % 2].places, std::move(settled), std::move(begun)};
}

}  // namespace

// What was decided of a rank, before anybody is told.
void Head::keep(int rank) {
  if (!facts_) return;
  const Hosting& h = hosting(rank);
  RankFacts& facts = facts_->rank(rank);
  facts_->groups = groups_;
  const std::uint32_t next = facts.current + 1;
  RankFacts::Decided& decided = facts.decided[next % 2];
  decided = {.incarnation = h.incarnation, .term = h.term, .agent = h.agent, .places = h.places.facts(), .rolled_back_term = h.rolled_back_term};
  if (int settled = h.places.settled_agent(); settled >= 0) {
    const core::event_logger::Holding& held = states_[static_cast<std::size_t>(settled)].held;
    decided.generation = held.generation.value;
    for (std::size_t copy = 0; copy < held.copies.size(); ++copy) decided.copies[copy] = {held.copies[copy].holder, held.copies[copy].generation.value};
  }
  put_places(*facts_, rank, next, h.places);
  facts.current = next;
}

// What was seen of its incarnations, before it is shown to anybody.
void Head::keep_past(int rank) {
  if (!facts_) return;
  RankFacts& facts = facts_->rank(rank);
  const std::uint32_t next = facts.current_past + 1;
  facts.past[next % 2] = watching_.past(rank);
  facts.current_past = next;
}

void Head::recall(int rank) {
  Hosting& h = hosting(rank);
  const RankFacts& facts = facts_->rank(rank);
  const std::uint32_t number = facts.current;
  const RankFacts::Decided& decided = facts.decided[number % 2];
  h.agent = decided.agent;
  h.incarnation = decided.incarnation;
  h.term = decided.term;
  h.rolled_back_term = decided.rolled_back_term;
  h.places = places_of(*facts_, rank, number);
  if (int settled = h.places.settled_agent(); settled >= 0) {
    core::event_logger::Holding& held = states_[static_cast<std::size_t>(settled)].held;
    held.generation = std::max(held.generation, Generation{decided.generation});
    held.copies.clear();
    for (const RankFacts::Decided::Copy& copy : decided.copies) {
      if (copy.holder >= 0) held.copies.push_back({copy.holder, Generation{copy.generation}, false});
    }
  }
  groups_ = facts_->groups;
  const RankPast& past = facts.past[facts.current_past % 2];
  watching_.recall(rank, h.agent, past);
  if (past.started != 0) timeline_.on_known_restarts(rank, {past.incarnation, past.restarts});
  if (facts.unprotected != 0) rank_unprotected_[static_cast<std::size_t>(rank)] = static_cast<wire::UnprotectReason>(facts.unprotected - 1);
}

// When and why is gone with the head that said so.
void Head::recall_lost_nodes() {
  for (int node = 0; node < job_.agent_count(); ++node) {
    if (facts_->lost(node) == 0) continue;
    timeline_.on_lost_node({.node = node, .why = "a head before this one said so"});
    watching_.on_node_lost(node);
  }
}

Result<> Head::resume() {
  auto marks = background_->resume();
  if (!marks) return std::unexpected(marks.error());
  for (const KeptMark& mark : *marks) output_.resume(mark);
  facts_->read = std::min<std::uint64_t>(facts_->read, background_->position());
  if (facts_->ending) exit_code_ = facts_->exit_code.load();
  timeline_.on_lost_heads(epoch_);
  recall_lost_nodes();
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
  std::vector<bool> lost;
  for (int node = 0; node < job_.agent_count(); ++node) lost.push_back(facts_->lost(node) != 0);
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
  state.held.generation = std::max(state.held.generation, Generation{report->head.generation});
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
  std::set<int> lost_before;
  for (int node = 0; node < job_.agent_count(); ++node) {
    AgentState& state = states_[static_cast<std::size_t>(node)];
    if (agents_.joined(node) && !state.lost_early) continue;
    if (!state.lost_early) state.lost_early = "it did not come back to the new head";
    missing.push_back(node);
    if (facts_->lost(node) != 0) lost_before.insert(node);
  }
  if (facts_->ending && !ending_) end(facts_->exit_code, grace_ms);
  if (ending_) return take_leave(missing);
  for (int node : missing) lose_places(node);
  // What nobody hosts starts again below.
  for (Hosting& h : hosting_) h.moving = !h.claimed;
  for (int node = 0; node < job_.agent_count(); ++node) {
    AgentState& state = states_[static_cast<std::size_t>(node)];
    if (state.superseded) agents_.expel(node);
    const bool has_something = !ranks_at(node).empty() || job_.protocol == wire::Protocol::optimist;  // then news of others pass through it
    if (!job_.has_holders() || state.superseded || state.lost_early || !has_something) continue;
    state.held.copies.clear();
    give_holders(node);
  }
  for (int rank = 0; rank < job_.rank_count(); ++rank) publish(rank);
  announce_all_again();
  if (ending_) return;
  for (int node : missing) {
    if (!ranks_at(node).empty()) lose_agent(node, *states_[static_cast<std::size_t>(node)].lost_early);
    else if (lost_before.contains(node)) on_agent_gone(node);  // the lost head has said so, and moved its ranks
    else lose_missing(node);
  }
  if (!ending_) start_unclaimed();
  if (ending_) return;
  start_input();
  feed_input();
  watching_.start();
  if (facts_->kills_from_ns != 0) kills_.resume(Instant(facts_->kills_from_ns), os::now(), epoch_);
  else if (ranks_initialized_ == job_.rank_count()) kills_.start(os::now());
}

// It had no ranks, and nobody has been given it as a holder since.
void Head::lose_missing(int node) {
  const std::string& why = *states_[static_cast<std::size_t>(node)].lost_early;
  timeline_.on_lost_node({os::now().value, node, why, {}, {}});
  watching_.on_node_lost(node);
  output_.say(fmt::format("node {} is lost: {}; {}", node, why, what_it_was(node)));
  on_agent_gone(node);
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
    if (h.claimed) continue;
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
