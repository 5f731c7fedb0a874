// Nodes that are lost: the head sees it, gives their ranks to a spare agent, and says who keeps whose determinants (docs/node-loss.md).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/event_logger/sharding.hpp"
#include "daemon/adoption.hpp"
#include "daemon/event_directory.hpp"
#include "daemon/head.hpp"
#include "daemon/unprotected.hpp"
#include "os/clock.hpp"
#include "os/print.hpp"
#include "os/process.hpp"

namespace hf::daemon {
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
  agents_.send(agent, ControlKind::strike, Strike{pause_ns});
  return true;
}

bool Head::hold_events(int agent, std::int64_t for_ns) {
  if (states_[static_cast<std::size_t>(agent)].gone) return false;
  agents_.send(agent, ControlKind::hold_events, HoldEvents{for_ns});
  return true;
}

bool Head::disk_fault(int agent, std::int64_t for_ns) {
  if (states_[static_cast<std::size_t>(agent)].gone || !job_.keeps_on_disk()) return false;
  agents_.send(agent, ControlKind::disk_fault, DiskFault{for_ns});
  return true;
}

// Fault injection. The agents cut and heal by themselves, this process what is its own: it is on side 0.
bool Head::partition(const Injection& injection) {
  if (heal_ != 0) return false;
  std::vector<std::byte> body;
  ByteWriter out(body);
  out.put(Cut{injection.for_ns});
  std::set<NodeId> others;
  for (std::size_t agent = 0; agent < injection.side_of.size(); ++agent) {
    out.put(injection.side_of[agent]);
    if (injection.side_of[agent] != 0) others.insert(NodeId(static_cast<int>(agent)));
  }
  agents_.send_all_bytes(ControlKind::cut, body);
  heal_ = loop_.at(os::later(os::now(), cut_delay_ns), [this, others, for_ns = injection.for_ns] {
    agents_.hold(others);
    heal_ = loop_.at(os::later(os::now(), cut_lasts_ns(for_ns)), [this] {
      heal_ = 0;
      agents_.hold({});
    });
  });
  return true;
}

// Spare agents that were lost before are not waited for.
void Head::start_if_ready() {
  if (started_ || ending_ || !std::ranges::all_of(states_, [](const AgentState& state) { return state.ready || state.gone; })) return;
  started_ = true;
  std::vector<std::uint16_t> machines;
  for (const std::string& name : machines_) {
    machines.push_back(static_cast<std::uint16_t>(std::ranges::find(machines_, name) - machines_.begin()));
  }
  agents_.send_all_bytes(ControlKind::start, std::as_bytes(std::span(machines)));
  if (job_.has_holders()) {
    // Under optimist those who have no ranks are told what is stable too, and tell it on.
    for (int agent = 0; agent < (job_.is_optimist() ? job_.agent_count() : job_.node_count); ++agent) give_holders(agent);
  }
  agents_.on_started();
  start_input();
  watching_.start();
}

void Head::give_input(Bytes bytes) {
  if (bytes.empty()) output_.set_answered(false);
  if (!job_.keeps_events() && !facts_) {
    return agents_.send_bytes(agent_of(0), bytes.empty() ? ControlKind::input_end : ControlKind::input, bytes);
  }
  if (bytes.empty()) {
    input_kept_.end();
    if (facts_) facts_->input_ended = true;
  } else if (Result<> kept = input_kept_.append(bytes); !kept) {
    output_.say(kept.error().text);
    return end(1, grace_ms);
  }
  if (facts_) facts_->input_bytes = input_kept_.size();
  feed_input();
}

// What was kept and rank 0's agent has not been given: all of it, when it is another agent now. No faster than it is taken, so that it
// is in nobody's way.
void Head::feed_input() {
  constexpr std::int64_t pause_ns = 2 * os::millisecond_ns;
  std::vector<std::byte> input(64 << 10);
  loop_.cancel(feed_);
  while (!ending_ && input_fed_ < input_kept_.size()) {
    if (!agents_.all_posted()) {
      feed_ = loop_.at(os::later(os::now(), pause_ns), [this] {
        feed_ = 0;
        feed_input();
      });
      return;
    }
    ssize_t n = ::pread(input_kept_.fd(), input.data(), input.size(), static_cast<off_t>(input_fed_));
    if (n <= 0) {
      output_.say("what was given on standard input cannot be read again");
      return end(1, grace_ms);
    }
    agents_.send_bytes(agent_of(0), ControlKind::input, Bytes(input).first(static_cast<std::size_t>(n)));
    input_fed_ += static_cast<std::uint64_t>(n);
  }
  if (!ending_ && input_kept_.ended() && !std::exchange(input_end_fed_, true)) agents_.send_bytes(agent_of(0), ControlKind::input_end);
}

// It can be asked for nobody's determinants any more.
void Head::lose_places(int agent) {
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    hosting(rank).places.lose(agent);
    keep(rank);
  }
  if (facts_) facts_->lost(agent) = 1;
}

core::event_logger::Told Head::told(const Hosting& h) const {
  if (!job_.keeps_on_nodes()) return {{}, Term{h.term}};  // in files, which nobody has to hold
  const int settled = h.places.settled_agent();
  return h.places.told(settled < 0 ? nullptr : &states_[static_cast<std::size_t>(settled)].held);
}

void Head::lose_agent(int agent, const std::string& why) {
  AgentState& lost = states_[static_cast<std::size_t>(agent)];
  if (std::exchange(lost.gone, true)) return;
  ++nodes_gone_;
  watching_.on_node_lost(agent);
  std::vector<int> ranks = ranks_at(agent);
  if (ending_) {
    for (int rank : ranks) output_.on_over(rank, false);
    return finish_if_over();
  }
  const std::string what = fmt::format("node {} is lost: {}", agent, why);
  lose_places(agent);
  for (int other = 0; other < job_.agent_count(); ++other) {
    AgentState& state = states_[static_cast<std::size_t>(other)];
    if (state.gone) continue;
    for (std::size_t copy = 0; copy < state.held.copies.size(); ++copy) {
      if (state.held.copies[copy].holder == agent) give_holder(other, copy, agent);
    }
    if (state.standby == agent && !state.held.copies.empty()) tell_holder(other, 0);
  }
  LostNode record{os::now().value, agent, why, ranks, {}};
  if (ranks.empty()) {
    timeline_.on_lost_node(std::move(record));
    output_.say(what + "; " + what_it_was(agent));
    return start_if_ready();
  }
  std::string cannot = why_not_moved(ranks);
  const auto targets = choose_targets(ranks);
  if (cannot.empty() && targets.empty()) {
    cannot = why_no_target();
  }
  if (!cannot.empty()) {
    output_.say(fmt::format("{}; its ranks cannot start again: {}; the job ends", what, cannot));
    for (int rank : ranks) output_.on_over(rank, false);
    timeline_.on_lost_node(std::move(record));
    return end(1, 0);
  }
  std::vector<int>& where = record.moved_to;
  for (const auto& [target, some] : targets) where.push_back(target);
  output_.say(fmt::format("{}; its {} rank{} start{} again on node{} {}", what, ranks.size(), ranks.size() == 1 ? "" : "s",
                          ranks.size() == 1 ? "s" : "", where.size() == 1 ? "" : "s", fmt::join(where, ", ")));
  timeline_.on_lost_node(std::move(record));
  for (int rank : ranks) mark_lost(rank);
  for (const auto& [target, some] : targets) move_ranks(some, target);
}

// Of an agent without ranks.
std::string Head::what_it_was(int agent) const {
  if (!job_.is_event_logger(agent)) return "it had no ranks";
  for (int other = 0; other < job_.agent_count(); ++other) {
    const AgentState& state = states_[static_cast<std::size_t>(other)];
    if (job_.is_event_logger(other) && !state.gone && !state.unfit) return "it was an event logger";
  }
  return "it was an event logger, and none is left: nodes hold each other's determinants from now on";
}

std::string Head::why_no_target() const {
  switch (options_.on_node_loss) {
    case OnNodeLoss::end: return "so --on-node-loss end wants it";
    case OnNodeLoss::spare: return "there is no spare node left (--spares)";
    default: return "there is no other node left";
  }
}

// A node with ranks ends the job. A spare one has nothing to do but to pass on what others say.
void Head::on_unfit_at_start(int agent, std::string_view why, int exit_code) {
  const std::string what = fmt::format("node {} ({}): {}", agent, job_.node_name(agent), why);
  if (agent < job_.node_count) {
    if (!exit_code_) output_.say(what + "; the job ends");
    return end(exit_code, 0);
  }
  output_.say(what + (job_.is_event_logger(agent) ? "; it is not used as an event logger" : "; it is not used as a spare"));
  states_[static_cast<std::size_t>(agent)].unfit = states_[static_cast<std::size_t>(agent)].ready = true;
  start_if_ready();
}

// It was fit when the job began. Its own ranks, if it has any, stay there.
void Head::on_adopt_unfit(int agent, Bytes payload) {
  Adopted asked;
  if (!read_struct(payload, asked) || ending_) return;
  states_[static_cast<std::size_t>(agent)].unfit = true;
  std::vector<int> ranks = ranks_at(agent);
  std::erase_if(ranks, [&](int rank) { return hosting(rank).group != asked.group; });
  const std::string what = fmt::format("node {} ({}) cannot take ranks over: {}", agent, job_.node_name(agent), text_of(payload));
  const auto targets = choose_targets(ranks);
  if (targets.empty()) {
    output_.say(fmt::format("{}; {}; the job ends", what, why_no_target()));
    return end(1, 0);
  }
  std::vector<int> where;
  for (const auto& [target, some] : targets) where.push_back(target);
  output_.say(fmt::format("{}; they start on node{} {}", what, where.size() == 1 ? "" : "s", fmt::join(where, ", ")));
  timeline_.on_moved_on(agent, ranks, where);
  for (const auto& [target, some] : targets) move_ranks(some, target);
}

std::string Head::why_not_moved(const std::vector<int>& ranks) const {
  if (job_.protocol == wire::Protocol::none) return "protocol none keeps nothing";
  if (!job_.recovers()) return "--no-sender-log keeps no messages";
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
  Event died{EventKind::died, rank, h.incarnation, 0, os::now().value, SIGKILL, unknown_call};
  timeline_.on_event(died, {});
  revive(rank);  // a peer may need its log
  h.state = wire::RankState::dead;
  h.listens = {};
  agents_.send_all(ControlKind::board, BoardChange{rank, h.incarnation, wire::RankState::dead});
}

int Head::choose_spare() const {
  for (int agent = job_.node_count; !job_.is_event_logger(agent); ++agent) {
    if (usable(agent) && ranks_at(agent).empty()) return agent;
  }
  return -1;
}

// All to one spare, or each to the living agent that has the fewest.
std::map<int, std::vector<int>> Head::choose_targets(const std::vector<int>& ranks) const {
  if (options_.on_node_loss == OnNodeLoss::end) return {};
  if (int spare = choose_spare(); spare >= 0) return {{spare, ranks}};
  if (options_.on_node_loss == OnNodeLoss::spare) return {};
  std::map<int, std::vector<int>> targets;
  std::vector<std::size_t> load(states_.size());
  for (int agent = 0; agent < job_.agent_count(); ++agent) load[static_cast<std::size_t>(agent)] = ranks_at(agent).size();
  for (int rank : ranks) {
    int best = -1;
    for (int agent = 0; agent < job_.agent_count(); ++agent) {
      if (!usable(agent) || job_.is_event_logger(agent)) continue;
      if (best < 0 || load[static_cast<std::size_t>(agent)] < load[static_cast<std::size_t>(best)]) best = agent;
    }
    if (best < 0) return {};
    ++load[static_cast<std::size_t>(best)];
    targets[best].push_back(rank);
  }
  return targets;
}

void Head::move_ranks(const std::vector<int>& ranks, int to) {
  Adoption adoption;
  Adopt& adopt = adoption.head;
  adopt = {.job_is_mpi = mpi_job_announced_, .group = groups_++, .input_taken = input_taken_};
  for (int rank : ranks) {
    Hosting& h = hosting(rank);
    h.agent = to;
    h.incarnation += static_cast<std::uint32_t>(job_.restarts_max) + 2;
    h.state = wire::RankState::absent;
    h.log_base = h.incarnation - 1;
    h.group = adopt.group;
    h.moving = h.claimed = true;
    ++h.term;
    if (job_.keeps_on_nodes()) h.places.move(Term{h.term});
    watching_.on_moved(rank, to);
    adoption.ranks.push_back(adopted_rank(rank, h.incarnation, h.term, told(h)));
    for (int place : h.places.all()) {
      if (std::ranges::find(adoption.places, place, &AgentAddress::node) == adoption.places.end()) adoption.places.push_back({place, agents_.address_of(place)});
    }
  }
  AgentState& state = states_[static_cast<std::size_t>(to)];
  for (EventCopy& copy : state.held.copies) copy.held = false;
  if (job_.has_holders()) give_holders(to);
  for (int rank : ranks) {
    if (job_.keeps_on_nodes()) {
      for (int holder : state.held.holders()) hosting(rank).places.add(holder);
    }
    keep(rank);
  }
  std::vector<std::byte> body;
  encode(adoption, body);
  agents_.send_bytes(to, ControlKind::adopt, body);
  if (std::ranges::find(ranks, 0) == ranks.end()) return;
  input_fed_ = 0;
  input_end_fed_ = false;
  feed_input();
}

int Head::choose_holder(int agent, const std::set<int>& not_these) const {
  std::vector<core::event_logger::HolderCandidate> agents(states_.size());
  std::map<std::string_view, int> machines;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    const int number = static_cast<int>(i);
    agents[i].usable = usable(number);
    agents[i].event_logger = job_.is_event_logger(number);
    agents[i].machine = machines.try_emplace(machines_[i], number).first->second;
  }
  for (const Hosting& h : hosting_) {
    const AgentState& host = states_[static_cast<std::size_t>(h.agent)];
    if (h.agent == agent || host.gone) continue;
    for (int holder : host.held.holders()) ++agents[static_cast<std::size_t>(holder)].held;
  }
  const auto joined = job_.is_optimist() ? core::event_logger::Joined::tree : core::event_logger::Joined::ring;
  return core::event_logger::choose_holder(agents, agent, not_these, joined);
}

// An event logger keeps nothing elsewhere: its one holder is there to tell and to be told what is stable.
void Head::give_holders(int agent) {
  std::vector<EventCopy>& copies = states_[static_cast<std::size_t>(agent)].held.copies;
  copies.resize(job_.is_event_logger(agent) ? 1 : static_cast<std::size_t>(job_.event_copies));
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    if (copies[copy].holder < 0) give_holder(agent, copy, -1);
  }
}

void Head::give_holder(int agent, std::size_t number, int not_this) {
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  core::event_logger::Holding& held = state.held;
  held.copies[number].holder = -1;
  std::set<int> not_these = held.holders();
  if (not_this >= 0) not_these.insert(not_this);
  not_these.insert(state.full.begin(), state.full.end());
  EventCopy& copy = held.copies[number];
  copy = {choose_holder(agent, not_these), ++held.generation, false};
  const std::vector<int> ranks = job_.keeps_on_nodes() ? ranks_at(agent) : std::vector<int>();
  for (int rank : ranks) {
    // Without one more is stable from here on than those have who held before: what they have must not be taken for all.
    if (copy.holder < 0) hosting(rank).places.only(held.holders());
    else hosting(rank).places.add(copy.holder);
    keep(rank);
  }
  tell_holder(agent, number);
  if (copy.holder >= 0 || ranks.empty()) return;
  say_lack(agent);
  settle_held(agent);
}

void Head::say_lack(int agent) {
  const std::size_t left = states_[static_cast<std::size_t>(agent)].held.holders().size();
  if (left > 0) {
    return output_.say(fmt::format("the determinants of node {} are held {} time{} only from now on: no other node is left to hold them", agent, left,
                                   left == 1 ? "" : "s"));
  }
  output_.say(fmt::format("the determinants of node {} are on that node{} alone from now on: no other node is left to hold them", agent,
                          job_.keeps_on_disk() ? " and on disk" : ""));
}

void Head::tell_holder(int agent, std::size_t number) {
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  const EventCopy& copy = state.held.copies[number];
  std::set<int> not_these = state.held.holders();
  // Who has no holder is told by that one what is stable.
  if (copy.holder >= 0) not_these.insert(state.full.begin(), state.full.end());
  state.standby = copy.holder >= 0 || job_.is_optimist() ? choose_holder(agent, not_these) : -1;
  agents_.send(agent, ControlKind::holder, Holder{copy.holder, copy.generation.value, state.standby, static_cast<std::int32_t>(number),
                                                  agents_.address_of(copy.holder), agents_.address_of(state.standby)});
}

void Head::on_held(int agent, Bytes payload) {
  Held held;
  std::vector<EventCopy>& copies = states_[static_cast<std::size_t>(agent)].held.copies;
  if (!read_struct(payload, held)) return;
  auto copy = std::ranges::find(copies, Generation{held.generation}, &EventCopy::generation);
  if (copy == copies.end() || copy->holder < 0) return;
  // Said before ranks were there that are being taken over, it is said again.
  copy->held = std::ranges::none_of(ranks_at(agent), [this](int rank) { return hosting(rank).moving; });
  settle_held(agent);
}

// Whoever had its ranks' determinants before need not keep them, once all who are to have them do; and the agent may tell more to be stable.
void Head::settle_held(int agent) {
  const core::event_logger::Holding& held = states_[static_cast<std::size_t>(agent)].held;
  if (!job_.keeps_on_nodes() || !held.all_held()) return;
  for (int rank : ranks_at(agent)) {
    Hosting& h = hosting(rank);
    if (h.moving) continue;  // said before it was there
    const std::vector<int> others = h.places.settle(agent, held.holders());
    keep(rank);
    agents_.send(agent, ControlKind::settled, RankOnly{rank});
    for (int place : others) {
      if (states_[static_cast<std::size_t>(place)].gone) continue;
      agents_.send(place, ControlKind::forget_events, ForgetEvents{rank, h.term, held.generation.value});
    }
  }
}

void Head::on_adopted(int agent, Bytes payload) {
  Adopted adopted;
  if (!read_struct(payload, adopted)) return;
  for (Hosting& h : hosting_) {
    if (h.group == adopted.group) h.moving = false;
  }
  settle_held(agent);
}

void Head::on_holder_lost(int agent, Bytes payload) {
  Held lost;
  AgentState& state = states_[static_cast<std::size_t>(agent)];
  if (!read_struct(payload, lost) || ending_) return;
  auto copy = std::ranges::find(state.held.copies, Generation{lost.generation}, &EventCopy::generation);
  if (copy == state.held.copies.end() || copy->holder < 0) return;
  const int holder = copy->holder;
  if (!ranks_at(agent).empty()) {
    output_.say(fmt::format("node {} keeps its determinants elsewhere from now on: node {}: {}", agent, holder, text_of(payload)));
  }
  if (lost.full != 0) state.full.insert(holder);
  give_holder(agent, static_cast<std::size_t>(copy - state.held.copies.begin()), holder);
}

void Head::on_disk_failed(int agent, Bytes text) {
  if (ending_) return;
  output_.say(fmt::format("node {} ({}): {}; the job ends", agent, job_.node_name(agent), text_of(text)));
  end(1, grace_ms);
}

// Of the first head: the others find it.
Result<> Head::make_event_directory() {
  if (!job_.keeps_on_disk() || epoch_ > 0) return {};
  Result<> made = EventDirectory::make(job_.event_directory, job_.event_key, job_.rank_count());
  if (!made) {
    job_.event_directory.clear();
    return fail(fmt::format("{} (--event-dir)", made.error().text));
  }
  return {};
}

void Head::remove_event_directory() {
  if (!job_.keeps_on_disk() || job_.event_directory.empty()) return;
  if (Result<> removed = EventDirectory::remove(job_.event_directory); !removed) os::print_error("holdfast: {}\n", removed.error().text);
}

void Head::on_adopt_failed(int agent, Bytes text) {
  output_.say(fmt::format("the lost ranks cannot start again on node {}: {}; the job ends", agent, text_of(text)));
  end(1, 0);
}

}  // namespace hf::daemon
