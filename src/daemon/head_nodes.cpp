// Nodes that are lost: the head sees it, gives their ranks to a spare agent, and says who keeps whose determinants (docs/node-loss.md).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/head.hpp"
#include "daemon/unprotected.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t beat_ms = 100;

}  // namespace

std::vector<int> Head::ranks_at(int agent) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    if (agent_of(rank) == agent) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> Head::agents_with_ranks() const {
  std::vector<int> agents;
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    const AgentState& state = states_[static_cast<std::size_t>(agent)];
    if (!state.gone && !ranks_at(agent).empty()) agents.push_back(agent);
  }
  return agents;
}

// Fault injection: SIGKILL to an agent and its ranks, or SIGSTOP for a time.
bool Head::strike(int agent, std::int64_t pause_ns) {
  if (states_[static_cast<std::size_t>(agent)].gone) return false;
  agents_.channel(agent).send(ControlKind::strike, Strike{pause_ns});
  return true;
}

void Head::start_agents() {
  agents_.send_all_bytes(ControlKind::nodes, std::as_bytes(std::span(nodes_)));
  if (job_.keeps_events()) {
    for (int agent = 0; agent < job_.node_count; ++agent) give_holder(agent, -1);
  }
  input_.start();
  for (AgentState& state : states_) state.heard = os::now();
  last_beat_ = os::now();
  if (job_.agent_count() > 1 && job_.protocol != wire::Protocol::none) beat();
}

void Head::give_input(Bytes bytes) {
  if (job_.keeps_events()) {
    if (bytes.empty()) input_kept_.end();
    else if (Result<> kept = input_kept_.append(bytes); !kept) {
      output_.say(kept.error().text);
      return end(1, grace_ms);
    }
  }
  AgentState& state = states_[static_cast<std::size_t>(agent_of(0))];
  if (!state.gone) agents_.channel(agent_of(0)).send_bytes(bytes.empty() ? ControlKind::input_end : ControlKind::input, bytes);
}

// Asks every agent for a sign of life. When this process itself was kept from running, nobody is blamed for it.
void Head::beat() {
  const Instant now = os::now();
  const std::int64_t late_ns = now.value - last_beat_.value - beat_ms * os::millisecond_ns;
  last_beat_ = now;
  for (int agent = 0; agent < job_.agent_count() && !ending_; ++agent) {
    AgentState& state = states_[static_cast<std::size_t>(agent)];
    if (state.gone) continue;
    if (late_ns > 0) state.heard = Instant{std::min(now.value, state.heard.value + late_ns)};
    const std::int64_t silent_ms = (now.value - state.heard.value) / os::millisecond_ns;
    if (silent_ms > options_.node_timeout_ms) {
      lose_agent(agent, fmt::format("nothing was heard of it for {} ms (--node-timeout)", silent_ms));
    } else {
      agents_.channel(agent).send_bytes(ControlKind::ping);
    }
  }
  if (!ending_) beat_ = loop_.at(os::later(now, beat_ms * os::millisecond_ns), [this] { beat(); });
}

void Head::lose_agent(int agent, const std::string& why) {
  AgentState& lost = states_[static_cast<std::size_t>(agent)];
  if (std::exchange(lost.gone, true)) return;
  ++nodes_gone_;
  agents_.close(agent);
  std::vector<int> ranks = ranks_at(agent);
  if (ending_) {
    for (int rank : ranks) output_.on_over(rank);
    return finish_if_over();
  }
  const std::string what = fmt::format("node {} is lost: {}", agent, why);
  for (int other = 0; other < job_.agent_count(); ++other) {
    AgentState& state = states_[static_cast<std::size_t>(other)];
    if (std::erase(state.places, agent) > 0) state.place_lost = true;
    if (!state.gone && state.holder == agent) give_holder(other, agent);
  }
  if (ranks.empty()) return output_.say(what + "; it had no ranks");
  std::string cannot = why_not_moved(ranks);
  int spare = choose_spare();
  if (cannot.empty() && spare < 0) cannot = "there is no spare node left (--spares)";
  if (!cannot.empty()) {
    output_.say(fmt::format("{}; its ranks cannot start again: {}; the job ends", what, cannot));
    for (int rank : ranks) output_.on_over(rank);
    return end(1, 0);
  }
  output_.say(fmt::format("{}; its {} rank{} start{} again on node {}", what, ranks.size(), ranks.size() == 1 ? "" : "s",
                          ranks.size() == 1 ? "s" : "", spare));
  for (int rank : ranks) mark_lost(rank);
  move_ranks(ranks, agent, spare);
}

std::string Head::why_not_moved(const std::vector<int>& ranks) const {
  if (job_.protocol == wire::Protocol::none) return "protocol none keeps nothing";
  if (!job_.keeps_events()) return "log level process keeps nothing that outlives a node (--log-level node)";
  if (!mpi_job_announced_) return "no rank had called MPI_Init";
  for (int rank : ranks) {
    const auto& reason = rank_unprotected_[static_cast<std::size_t>(rank)];
    if (reason) return fmt::format("rank {} was unprotected: {}", rank, why_unprotected(*reason));
  }
  return {};
}

// The incarnation that was there is dead for all; it may have been followed by others that nobody has heard of.
void Head::mark_lost(int rank) {
  Hosting& h = hosting(rank);
  Event died{EventKind::died, rank, h.incarnation, 0, os::now().value, SIGKILL};
  timeline_.on_event(died, {});
  if (rank_over_[static_cast<std::size_t>(rank)]) {
    rank_over_[static_cast<std::size_t>(rank)] = false;
    --ranks_over_;  // a peer may need its log
    kills_.on_rank_again(rank);
  }
  BoardChange change{rank, h.incarnation, wire::RankState::dead};
  agents_.send_all(ControlKind::board, change);
}

int Head::choose_spare() const {
  for (int agent = job_.node_count; agent < job_.agent_count(); ++agent) {
    const AgentState& state = states_[static_cast<std::size_t>(agent)];
    if (!state.gone && state.adopting.empty() && ranks_at(agent).empty()) return agent;
  }
  return -1;
}

void Head::move_ranks(const std::vector<int>& ranks, int from, int to) {
  AgentState& old = states_[static_cast<std::size_t>(from)];
  AgentState& now = states_[static_cast<std::size_t>(to)];
  now.adopting = ranks;
  now.places = old.places;
  now.place_lost = old.place_lost;
  Adopt adopt{static_cast<std::int32_t>(ranks.size()), static_cast<std::int32_t>(now.places.size()), !now.place_lost, mpi_job_announced_,
              input_taken_};
  std::vector<std::byte> body;
  ByteWriter out(body);
  out.put(adopt);
  for (int rank : ranks) {
    Hosting& h = hosting(rank);
    h.agent = to;
    h.incarnation += static_cast<std::uint32_t>(job_.restarts_max) + 2;
    h.log_base = h.incarnation - 1;
    out.put(AdoptedRank{rank, h.incarnation, ++h.term});
  }
  for (int place : now.places) out.put(std::int32_t{place});
  ControlChannel& channel = agents_.channel(to);
  channel.send_bytes(ControlKind::adopt, body);
  give_holder(to, -1);
  if (std::ranges::find(ranks, 0) == ranks.end()) return;
  std::vector<std::byte> input(64 << 10);
  for (std::uint64_t at = 0; at < input_kept_.size();) {
    ssize_t n = ::pread(input_kept_.fd(), input.data(), input.size(), static_cast<off_t>(at));
    if (n <= 0) {
      output_.say("what was given on standard input cannot be read again");
      return end(1, grace_ms);
    }
    channel.send_bytes(ControlKind::input, Bytes(input).first(static_cast<std::size_t>(n)));
    at += static_cast<std::uint64_t>(n);
  }
  if (input_kept_.ended()) channel.send_bytes(ControlKind::input_end);
}

// The next living agent in the ring of all.
int Head::choose_holder(int agent, int not_this) const {
  const int n = job_.agent_count();
  for (int step = 1; step < n; ++step) {
    int other = (agent + step) % n;
    if (other != not_this && !states_[static_cast<std::size_t>(other)].gone) return other;
  }
  return -1;
}

void Head::give_holder(int agent, int not_this) {
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  state.holder = choose_holder(agent, not_this);
  ++state.generation;
  if (state.holder >= 0 && std::ranges::find(state.places, state.holder) == state.places.end()) state.places.push_back(state.holder);
  agents_.channel(agent).send(ControlKind::holder, Holder{state.holder, state.generation});
  if (state.holder < 0 && !ranks_at(agent).empty()) {
    state.place_lost = true;
    output_.say(fmt::format("the determinants of node {} are on that node alone from now on: no other node is left to hold them", agent));
  }
}

void Head::on_held(int agent, Bytes payload) {
  Held held;
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  if (!read_struct(payload, held) || held.generation != state.generation || state.holder < 0) return;
  state.place_lost = false;
  for (int place : std::exchange(state.places, {state.holder})) {
    if (place == state.holder || states_[static_cast<std::size_t>(place)].gone) continue;
    for (int rank : ranks_at(agent)) {
      agents_.channel(place).send(ControlKind::forget_events, EventsName{rank, hosting(rank).term});
    }
  }
}

void Head::on_holder_lost(int agent, Bytes payload) {
  Held lost;
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  if (!read_struct(payload, lost) || lost.generation != state.generation || ending_) return;
  output_.say(fmt::format("node {} keeps its determinants elsewhere from now on: node {}: {}", agent, state.holder, text_of(payload)));
  give_holder(agent, state.holder);
}

void Head::on_adopt_failed(int agent, Bytes text) {
  output_.say(fmt::format("the lost ranks cannot start again on node {}: {}; the job ends", agent, text_of(text)));
  end(1, 0);
}

}  // namespace hf::daemon
