// Other nodes: where ranks are hosted, taking over those of a lost agent, and their determinants (docs/node-loss.md).
#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/vprotocol/events.hpp"
#include "daemon/agent.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

void Agent::set_place(int rank, int agent, int group, std::uint32_t log_base, Address logs) {
  if (agent < 0 || agent >= job_.agent_count()) return;
  hosting_[static_cast<std::size_t>(rank)] = {job_.node_of(rank), agent, group};
  board_.set_place(rank, agent, log_base, logs.address, logs.port);
  board_.set_cut_off(rank, cut_off(agent));
}

// Fault injection: what the loss of a node, or of its network for a while, is to all others.
void Agent::on_strike(std::int64_t pause_ns) {
  auto signal_all = [this](int signal) {
    for (auto& rank : ranks_) {
      if (rank->alive()) rank->kill_all(signal);
    }
  };
  if (pause_ns == 0) {
    signal_all(SIGKILL);
    ::kill(::getpid(), SIGKILL);
  }
  const pid_t agent = ::getpid();
  const pid_t waker = ::fork();
  if (waker < 0) return note(fmt::format("cannot be paused: {}", std::strerror(errno)));
  if (waker == 0) {
    timespec left{pause_ns / os::second_ns, pause_ns % os::second_ns};
    while (::nanosleep(&left, &left) != 0) continue;
    ::kill(agent, SIGCONT);
    ::_exit(0);
  }
  signal_all(SIGSTOP);
  ::kill(agent, SIGSTOP);
  signal_all(SIGCONT);
}

void Agent::on_holder(Bytes payload) {
  Holder holder;
  if (!keeper_ || !read_struct(payload, holder)) return;
  if (holder.copy < 0 || holder.copy >= job_.event_copies) return on_head_gone();  // not our head
  keeper_->set_address(holder.agent, holder.agent_at);
  keeper_->set_address(holder.standby, holder.standby_at);
  keeper_->set_holder(holder.copy, holder.agent, Generation{holder.generation}, holder.standby);
}

// Fault injection: whoever is on another side is not heard and not spoken to, by this agent and by its ranks. From a moment on at
// which all have heard of it.
void Agent::on_cut(Bytes payload) {
  Cut cut;
  std::vector<std::uint16_t> sides;
  if (!read_struct(payload, cut)) return on_head_gone();  // not our head
  for (std::uint16_t side; read_struct(payload, side);) sides.push_back(side);
  if (std::ssize(sides) != job_.agent_count()) return on_head_gone();
  loop_.cancel(cut_);
  cut_ = loop_.at(os::later(os::now(), cut_delay_ns), [this, sides = std::move(sides), cut] {
    set_sides(sides);
    cut_ = loop_.at(os::later(os::now(), cut_lasts_ns(cut.for_ns)), [this] {
      cut_ = 0;
      set_sides({});
    });
  });
}

void Agent::set_sides(std::vector<std::uint16_t> sides) {
  sides_ = std::move(sides);
  for (int rank = 0; rank < job_.rank_count(); ++rank) board_.set_cut_off(rank, cut_off(hosting_[static_cast<std::size_t>(rank)].agent));
  ring_all();
  std::set<int> others;
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    if (cut_off(agent)) others.insert(agent);
  }
  std::set<NodeId> nodes(others.begin(), others.end());
  if (side_of(ticket_.node) != 0) nodes.insert(head_node);
  head_.hold(std::move(nodes));
  if (keeper_) keeper_->cut_off(std::move(others));
}

void Agent::on_adopt(Bytes payload) {
  Adoption adoption;
  const bool ours = keeper_ && decode(payload, job_.rank_count(), job_.agent_count(), adoption);
  if (!ours || std::ranges::any_of(adoption.ranks, [this](const AdoptedRank& rank) { return local(rank.rank); })) return on_head_gone();
  for (const AgentAddress& place : adoption.places) keeper_->set_address(place.node, place.at);
  const NodeNeeds needs = needs_of(job_, adoption.head.rank_count);
  if (std::string why = why_unfit(needs, look_at_node(needs)); !why.empty()) {
    return send_head(ControlKind::adopt_unfit, Adopted{adoption.head.group}, bytes_of(why));
  }
  job_is_mpi_ |= adoption.head.job_is_mpi != 0;
  // Its input comes behind this, all of it, also when a head before had begun with that.
  if (std::ranges::any_of(adoption.ranks, [](const AdoptedRank& rank) { return rank.rank == 0; })) input_ = InputKeeper();
  adoptions_.push_back(std::move(adoption));
  if (adoptions_.size() == 1) next_adoption();
}

void Agent::next_adoption() {
  if (adoptions_.empty()) return;
  std::vector<EventKeeper::Wanted> ranks;
  for (const AdoptedRank& rank : adoptions_.front().ranks) ranks.push_back({Rank{rank.rank}, Term{rank.term}, Term{rank.told_next}});
  std::vector<int> places;
  for (const AgentAddress& place : adoptions_.front().places) places.push_back(place.node);
  keeper_->fetch(ranks, places, [this](EventKeeper::Fetched fetched) { on_found(std::move(fetched)); });
}

void Agent::on_found(EventKeeper::Fetched fetched) {
  if (ending_) return;
  for (AdoptedRank& rank : adoptions_.front().ranks) {
    if (fetched.files_read) rank.place_lost = 0;
    else if (!fetched.all_places) rank.place_lost = 1;
  }
  if (!fetched.warning.empty()) note(fmt::format("determinants come from another node alone: {}", fetched.warning));
  auto& found = fetched.found;
  if (!optimist() || !fetched.failure.empty()) return adopt(std::move(found), std::move(fetched.failure));
  for (const AdoptedRank& rank : adoptions_.front().ranks) {
    if (std::string lost = why_lost(rank, found[Rank{rank.rank}]); !lost.empty()) return adopt({}, lost);
  }
  cut_found(found);
  found_ = std::move(found);
  for (const AdoptedRank& rank : adoptions_.front().ranks) {
    not_announced_.insert(Rank{rank.rank});
    send_head(ControlKind::begun, EventsCut{rank.rank, rank.term, found_[Rank{rank.rank}].bytes.size()});
  }
}

// All at once: ranks that are taken over together are local to each other from their first moment on.
void Agent::adopt(std::map<Rank, EventKeeper::Found> found, std::string failure) {
  if (ending_) return;
  const Adoption& adoption = adoptions_.front();
  for (const AdoptedRank& rank : adoption.ranks) {
    if (!failure.empty()) break;
    if (Result<> done = adopt_one(rank, found[Rank{rank.rank}]); !done) failure = done.error().text;
  }
  if (!failure.empty()) {
    adopt_failure_ = failure;
    return send_head_bytes(ControlKind::adopt_failed, bytes_of(failure));
  }
  if (local(0) && local(0)->state == LocalRank::State::idle) input_taken_ = adoption.head.input_taken;
  for (const AdoptedRank& rank : adoption.ranks) {
    if (!look_at(*local(rank.rank))) start(*local(rank.rank));
  }
  send_head(ControlKind::adopted, Adopted{adoption.head.group});
  adoptions_.pop_front();
  next_adoption();
}

// Nothing: what was found of its events is all that ever was told to be stable.
std::string Agent::why_lost(const AdoptedRank& adopted, const EventKeeper::Found& found) const {
  if (core::event_logger::suffices(found, told_of(adopted))) return {};
  const bool counted = found.promised.end > found.bytes.size();
  return fmt::format("the determinants of rank {} were lost: {} bytes of {} are left", adopted.rank, found.bytes.size(),
                     counted ? fmt::format("{}", found.promised.end) : "an unknown number");
}

Result<> Agent::adopt_one(const AdoptedRank& adopted, const EventKeeper::Found& found) {
  const Adopt& head = adoptions_.front().head;
  // Under optimist that was asked before what the cuts left of it.
  if (std::string lost = optimist() ? std::string() : why_lost(adopted, found); !lost.empty()) return fail(lost);
  // A hosting that was cut off may have sent part of an event: nothing depends on it.
  const Bytes whole = Bytes(found.bytes).first(core::vprotocol::whole_events(found.bytes));
  const std::uint32_t past = adopted.incarnation - 1;
  if (Result<> begun = segments_->begin_at(adopted.rank, past, whole, found.last_failed, [this] { on_busy(); }); !begun) return begun;
  if (Result<> made = make_rank(adopted.rank); !made) return made;
  local(adopted.rank)->incarnation = adopted.incarnation;
  local(adopted.rank)->term = adopted.term;
  local(adopted.rank)->log_base = past;
  set_place(adopted.rank, ticket_.node, head.group, past, own_logs());
  board_.set_events_term(adopted.rank, Term{adopted.term});
  keeper_->add_rank(Rank{adopted.rank}, Term{adopted.term}, {whole.size(), found.last_failed}, found.term.value < adopted.told_next);
  return {};
}

EventKeeper::Extent Agent::written(Rank rank) {
  SegmentStore::EventExtent extent = segments_->event_extent(rank.value);
  return {extent.end, extent.last_failed};
}

bool Agent::read_events(Rank rank, std::uint64_t position, MutableBytes out) {
  return segments_->read_events(rank.value, position, out);
}

void Agent::on_stable(Rank number, const EventKeeper::Extent& extent) {
  board_.set_stable(number.value, extent.end, extent.last_failed.value);
  LocalRank* rank = local(number.value);
  if (!rank) return;
  if (rank->alive() && awaits_stable(*rank)) ::eventfd_write(rank->doorbell.get(), 1);
  pass_stable_output(*rank);
}

// Either the rank looks at the board before it sleeps, or we see that it sleeps.
bool Agent::awaits_stable(const LocalRank& rank) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const segment::ControlView control = segments_->control(rank.rank, rank.incarnation);
  if (!control) return false;
  const segment::Sleeping sleeping = segment::load_acquire(control.header().sleeping);
  return sleeping == segment::Sleeping::until_stable;
}

void Agent::on_held(Generation generation) { send_head(ControlKind::held, Held{generation.value}); }

void Agent::on_holder_lost(Generation generation, bool full, const std::string& why) {
  send_head(ControlKind::holder_lost, Held{generation.value, full ? 1u : 0u}, bytes_of(why));
}

void Agent::on_carriable(int agent) { board_.set_events_holder(agent); }

EventKeeper::Extent Agent::carried(Rank rank) {
  SegmentStore::EventExtent extent = segments_->carried_extent(rank.value);
  return {extent.end, extent.last_failed};
}

std::vector<segment::CarriedEvents::Piece> Agent::fence(Rank rank, Term below, Term held) {
  if (!local(rank.value)) board_.set_events_term(rank.value, below);
  return segments_->carried(rank, held);
}

void Agent::on_disk_failed(const std::string& why) {
  if (ending_ || gone_) return;
  for (auto& rank : ranks_) pass_stable_output(*rank);
  disk_failure_ = fmt::format("determinants cannot be kept in {}: {}: make room there, or give another directory (--event-dir)",
                              job_.event_directory, why);
  send_head_bytes(ControlKind::disk_failed, bytes_of(disk_failure_));
}

// The head has declared this agent lost, and its ranks run elsewhere: what is left here must not go on.
void Agent::on_fenced(Rank) { on_head_gone(); }

void Agent::on_damaged(Rank rank) {
  event_failed(*local(rank.value), 1, fmt::format("the event log of rank {} is damaged", rank.value));
}

}  // namespace hf::daemon
