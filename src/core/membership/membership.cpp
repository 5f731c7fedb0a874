#include "core/membership/membership.hpp"
namespace hf::core::membership {

using tree::after;
using wire::TreeFrame;
using wire::TreeKind;

Membership::Membership(const MembershipOptions& options, int agents, int fan_out, NodeId self, Instant now)
    : options_(options), self_(self), view_(agents, fan_out), parent_heard_(now), next_beat_(now) {
  if (self_ != head_node) parent_ = shape().parent(self_);
  else turns_.resize(static_cast<std::size_t>(agents)), note_turns();
  renew_watches(now, {});
}

std::optional<std::int64_t> Membership::threshold_ns(NodeId node) const {
  auto found = watched_.find(node);
  if (found == watched_.end()) return std::nullopt;
  return found->second.watch.threshold_ns(options_);
}

void Membership::on_started(Instant now) {
  started_ = true;
  for (auto& [node, watched] : watched_) watched.watch.on_started(now);
}

// A process that was stopped, or got no core, must not take its own silence for that of others.
void Membership::notice_pause(Instant now) {
#ifndef HOLDFAST_MUTATE_IGNORE_PAUSE
  std::int64_t late = now.value - next_beat_.value;
  if (late <= options_.heartbeat_ns) return;
  forgive_all(late, now);
  next_beat_ = now;
#endif
}

void Membership::forgive_all(std::int64_t late, Instant now) {
  for (auto& [node, watched] : watched_) watched.watch.forgive(late, now);
  parent_heard_.value = std::min(parent_heard_.value + late, now.value);
}

Membership::Verdict Membership::on_frame(Instant now, NodeId from, const TreeFrame& frame) {
  if (ended_ || frame.header.node != from.value || from == self_) return Verdict::refused;
  notice_pause(now);
#ifndef HOLDFAST_MUTATE_NO_FENCE
  if (!view_.is_alive(from)) {
    if (frame.header.kind != TreeKind::fenced) send_empty(from, TreeKind::fenced);
    return Verdict::refused;
  }
#endif
  if (from == parent_ && self_ != head_node) parent_heard_ = now;
  if (auto watched = watched_.find(from); watched != watched_.end()) {
    if (frame.header.kind == TreeKind::heartbeat) watched->second.watch.on_heartbeat(now);
    else watched->second.watch.on_frame(now);
    if (watched->second.orphan && frame.header.version >= version().value) watched_.erase(watched);
  }
  switch (frame.header.kind) {
    case TreeKind::heartbeat: on_heartbeat(now, from, frame); break;
    case TreeKind::view: on_view_frame(now, from, frame); break;
    case TreeKind::ask: send_view(from, ViewVersion(frame.header.version)); break;
    case TreeKind::fenced: end(EndReason::fenced); break;
    case TreeKind::items: return Verdict::items;
  }
  return Verdict::taken;
}

void Membership::on_heartbeat(Instant now, NodeId from, const TreeFrame& frame) {
  ViewVersion theirs{frame.header.version};
  ViewVersion& known = peer_versions_[from];
  known = std::max(known, theirs);
  if (theirs > version()) send_empty(from, TreeKind::ask);
  // An older version may have crossed ours on the way: only who was never told is.
  if (known < version()) send_view(from, known);
  Suspects said;
  for (const wire::SuspectEntry& entry : frame.suspects) said[NodeId(entry.node)] = {ViewVersion(entry.version), entry.silent_ms};
  if (said.empty()) reported_.erase(from);
  else reported_[from] = std::move(said);
  on_suspects(now);
}

void Membership::on_view_frame(Instant now, NodeId from, const TreeFrame& frame) {
  if (self_ == head_node) return;  // which alone decides
  ViewVersion to{frame.range.to};
  ViewVersion& known = peer_versions_[from];
  known = std::max(known, ViewVersion(frame.header.version));
  if (frame.range.from > version().value) return send_empty(from, TreeKind::ask);
  if (to > version()) {
    std::vector<wire::DeathEntry> deaths;
    std::set<NodeId> dead;
    for (const wire::DeathEntry& death : frame.deaths) {
      NodeId node{death.node};
      if (death.version <= version().value) continue;
      if (node == self_) return end(EndReason::fenced);
      if (view_.is_alive(node) && dead.insert(node).second) deaths.push_back(death);
    }
    apply(now, to, deaths, {});
  }
  if (from != parent_) send_heartbeat(from);  // it looks after us until it knows that we have got it
}

void Membership::on_host_heard(NodeId peer, Instant then) {
  if (auto watched = watched_.find(peer); watched != watched_.end()) watched->second.watch.on_host(then);
}

void Membership::on_closed(Instant now, NodeId peer) {
  if (ended_ || ending_) return;
  notice_pause(now);
  if (self_ != head_node && peer == head_node) return end(EndReason::head_gone);
  if (self_ != head_node && peer == parent_) parent_closed_.arm_if_idle(after(now, options_.closed_parent_ns));
  if (auto watched = watched_.find(peer); watched != watched_.end()) {
    watched->second.watch.on_closed();
    on_suspects(now);
  }
}

void Membership::on_found_dead(Instant now, NodeId agent) {
  if (ended_ || ending_ || !view_.is_alive(agent)) return;
  found_dead_.insert(agent);
  on_suspects(now);
}

void Membership::on_timeout(Instant now) {
  if (ended_) return;
  notice_pause(now);
  if (!ending_) look_for_silence(now);
  else if (self_ != head_node && now.value - parent_heard_.value >= options_.silent_parent_ns) end(EndReason::cut_off);
  if (ended_) return;
  if (decision_.poll(now)) decide(now);
  if (now >= next_beat_) beat(now);
}

void Membership::on_busy(Instant now) {
  if (ended_ || now < next_beat_) return;
  forgive_all(now.value - next_beat_.value + options_.heartbeat_ns, now);  // since the last beat
  beat(now);
}

void Membership::look_for_silence(Instant now) {
  bool found = false;
  for (auto& [node, watched] : watched_) {
    bool before = watched.watch.suspected();
    watched.watch.on_timeout(now, options_, started_);
    found |= watched.watch.suspected() && !before;
  }
  if (self_ != head_node) {
    bool silent = now.value - parent_heard_.value >= options_.silent_parent_ns;
    if (silent || parent_closed_.poll(now)) return end(EndReason::cut_off);
  }
  if (found) on_suspects(now);
}

void Membership::beat(Instant now) {
  next_beat_ = after(std::max(next_beat_, Instant(now.value - options_.heartbeat_ns)), options_.heartbeat_ns);
  for (const auto& [node, watched] : watched_) send_heartbeat(node);
  if (self_ == head_node) return;
  send_heartbeat(parent_);
  bool lost = parent_closed_.armed() || now.value - parent_heard_.value > options_.silence_ceiling_ns;
  if (lost) ask_above();
}

// Of a lost parent's death, and perhaps of its own, an agent hears from those above: from one a beat.
void Membership::ask_above() {
  std::vector<NodeId> way = shape().path_to_head(self_);
  if (way.size() > 1) send_empty(way[1 + asked_++ % (way.size() - 1)], TreeKind::ask);
}

std::optional<Instant> Membership::next_deadline() const {
  if (ended_) return std::nullopt;
  std::optional<Instant> soonest = next_beat_;
  tree::earlier(soonest, decision_.at());
  if (ending_ && self_ != head_node) tree::earlier(soonest, after(parent_heard_, options_.silent_parent_ns));
  if (ending_) return soonest;
  for (const auto& [node, watched] : watched_) {
    if (!watched.watch.suspected()) tree::earlier(soonest, watched.watch.deadline(options_, started_));
  }
  if (self_ != head_node) {
    tree::earlier(soonest, parent_closed_.at());
    tree::earlier(soonest, after(parent_heard_, options_.silent_parent_ns));
  }
  return soonest;
}

void Membership::end(EndReason reason) {
#ifdef HOLDFAST_MUTATE_IGNORE_FENCED
  if (reason == EndReason::fenced) return;
#endif
  ended_ = true;
  out_.clear();
  events_.push_back({Event::ended, {}, {}, reason});
}

bool Membership::poll_event(Event& out) {
  if (events_.empty()) return false;
  out = std::move(events_.front());
  events_.pop_front();
  return true;
}

bool Membership::poll_transmit(Transmit& out) {
  if (out_.empty()) return false;
  out = std::move(out_.front());
  out_.pop_front();
  return true;
}

void Membership::send(NodeId to, TreeKind kind, std::vector<std::byte> frame) {
  wire::finish_tree_frame(frame, kind, self_, version());
  out_.push_back({to, std::move(frame)});
}

void Membership::send_empty(NodeId to, TreeKind kind) {
  send(to, kind, std::vector<std::byte>(sizeof(wire::TreeHeader)));
}

void Membership::send_heartbeat(NodeId to) {
  std::vector<std::byte> frame(sizeof(wire::TreeHeader));
  ByteWriter writer(frame);
  if (to == parent_ && self_ != head_node) {
    told_ = suspects();
    for (const auto& [node, found] : told_) writer.put(wire::SuspectEntry{node.value, found.version.value, found.silent_ms});
  }
  send(to, TreeKind::heartbeat, std::move(frame));
}

void Membership::send_view(NodeId to, ViewVersion since) {
  std::vector<std::byte> frame(sizeof(wire::TreeHeader));
  ByteWriter writer(frame);
  since = std::min(since, version());
  writer.put(wire::ViewRange{since.value, version().value});
  for (const wire::DeathEntry& death : view_.deaths_after(since)) writer.put(death);
  send(to, TreeKind::view, std::move(frame));
  peer_versions_[to] = version();
}

}  // namespace hf::core::membership
