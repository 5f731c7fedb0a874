// Membership: who is found dead, how the head decides, and what follows from a decision at each agent.
#include "base/check.hpp"
#include "core/membership/membership.hpp"

namespace hf::core::membership {

using tree::after;
using wire::DeathEntry;

namespace {

std::uint32_t silent_ms(const Watch& watch) {
  constexpr std::int64_t ms = 1'000'000;
  return static_cast<std::uint32_t>((watch.silent_ns() + ms - 1) / ms);
}

}  // namespace

// Found dead here, or by those below, as they said last. An agent that is heard again is not in the next heartbeat.
Membership::Suspects Membership::suspects() const {
  Suspects all;
  for (const auto& [child, said] : reported_) {
    for (const auto& [node, found] : said) {
      if (node != self_ && view_.is_alive(node) && found.version >= all[node].version) all[node] = found;
    }
  }
  for (const auto& [node, watched] : watched_) {
    if (watched.watch.suspected()) all[node] = {version(), silent_ms(watched.watch)};
  }
  for (NodeId node : found_dead_) all[node] = {version(), 0};
  return all;
}

void Membership::on_suspects(Instant now) {
  if (self_ != head_node) {
    if (suspects() != told_) send_heartbeat(parent_);
    return;
  }
  if (decision_.armed() || to_decide().empty()) return;
  Instant soonest = after(now, options_.gather_ns);
  decision_.arm(decided_ ? std::max(soonest, after(*decided_, options_.decision_ns)) : soonest);
}

// Only what was found in a tree in which the agent already stood where it stands now: in an older one another had to watch
// it, and finds it silent because it has turned to its new parent. Where it still is silent, that one will say so.
std::vector<DeathEntry> Membership::to_decide() const {
  std::vector<DeathEntry> deaths;
  for (const auto& [node, found] : suspects()) {
#ifndef HOLDFAST_MUTATE_OLD_REPORTS_COUNT
    if (found.version < turns_[static_cast<std::size_t>(node.value)].since) continue;
#endif
    deaths.push_back({node.value, version().next().value});
  }
  return deaths;
}

// The head: who has turned to another parent with the present version.
void Membership::note_turns() {
  std::vector<NodeId> open{head_node};
  while (!open.empty()) {
    NodeId parent = open.back();
    open.pop_back();
    for (NodeId child : shape().children(parent)) {
      Turn& turn = turns_[static_cast<std::size_t>(child.value)];
      if (turn.parent != parent) turn = {parent, version()};
      open.push_back(child);
    }
  }
}

void Membership::decide(Instant now) {
  std::vector<DeathEntry> deaths = to_decide();
  if (deaths.empty() || ending_) return;  // empty: they were heard again
  decided_ = now;
  apply(now, version().next(), deaths, suspects());
}

void Membership::apply(Instant now, ViewVersion to, const std::vector<DeathEntry>& deaths, const Suspects& found) {
  ViewVersion before = version();
  std::vector<NodeId> orphans = orphans_of(deaths);
  view_.apply(to, deaths);
  Event changed{Event::view_changed};
  for (const DeathEntry& death : deaths) {
    NodeId dead{death.node};
    changed.dead.push_back(dead);
    auto finding = found.find(dead);
    changed.silent_ms.push_back(finding == found.end() ? 0 : finding->second.silent_ms);
    found_dead_.erase(dead);
    watched_.erase(dead);
    reported_.erase(dead);
    peer_versions_.erase(dead);
  }
  events_.push_back(std::move(changed));
  if (self_ == head_node) note_turns();
  renew_watches(now, orphans);
  tell_below(before);
  if (self_ == head_node) return;
  NodeId parent = shape().parent(self_);
  if (parent != parent_) {
    parent_ = parent;
    parent_heard_ = now;
    parent_closed_.stop();
    send_heartbeat(parent_);
  } else if (suspects() != told_) {
    send_heartbeat(parent_);
  }
}

// Living agents whose nearest living ancestor was this one, with only the dead between: nobody else could tell them, and
// their new parents may be dead too. Asked at once, those that are dead are found together, not one after the other.
std::vector<NodeId> Membership::orphans_of(const std::vector<DeathEntry>& deaths) const {
  std::map<NodeId, bool> dying;
  for (const DeathEntry& death : deaths) dying[NodeId(death.node)] = true;
  std::vector<NodeId> orphans, open;
  for (const auto& [node, watched] : watched_) {
    if (dying.contains(node)) open.push_back(node);
  }
  while (!open.empty()) {
    NodeId dead = open.back();
    open.pop_back();
    for (NodeId child : shape().children(dead)) (dying.contains(child) ? open : orphans).push_back(child);
  }
  return orphans;
}

void Membership::renew_watches(Instant now, const std::vector<NodeId>& orphans) {
  std::map<NodeId, Watched> before;
  before.swap(watched_);
  for (NodeId child : shape().children(self_)) {
    auto known = before.extract(child);
    auto& renewed = known ? watched_.insert(std::move(known)).position->second
                          : watched_.emplace(child, Watched{Watch(now), false}).first->second;
    renewed.orphan = false;
  }
  for (auto& [node, watched] : before) {
    if (watched.orphan) watched_.emplace(node, watched);
  }
  for (NodeId orphan : orphans) {
    auto known = peer_versions_.find(orphan);
    bool has_told = known != peer_versions_.end() && known->second >= version();
    if (!has_told) watched_.emplace(orphan, Watched{Watch(now), true});
  }
  std::erase_if(reported_, [&](const auto& entry) { return !watched_.contains(entry.first); });
}

// Who was never heard stood elsewhere in the tree before; it knows about what was known here before.
void Membership::tell_below(ViewVersion before) {
  for (const auto& [node, watched] : watched_) {
    auto known = peer_versions_.find(node);
    if (known == peer_versions_.end() || known->second < version()) {
      send_view(node, known == peer_versions_.end() ? before : known->second);
    }
  }
}

}  // namespace hf::core::membership
