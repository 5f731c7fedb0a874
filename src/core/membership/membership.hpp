// Who of the agents lives: heartbeats along the tree, the head's decisions, and how they spread. One object an agent, one at the
// head, which alone decides. docs/membership.md has the protocol. Pure.
//
// Who is declared dead stays dead: its number is never used again, its frames are refused by all who know it, and it ends when it hears
// of it.
//
// Drive: every frame of a neighbour goes through on_frame(), of every kind. After every call: poll_event() until it returns
// false, and the tree's on_view() for each change of the view; then poll_transmit(); next_deadline().
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/membership/options.hpp"
#include "core/membership/view.hpp"
#include "core/membership/watch.hpp"
#include "core/tree/outgoing.hpp"
#include "core/tree/timer.hpp"

namespace hf::core::membership {

using tree::Timer;
using tree::Transmit;

enum class EndReason { fenced, head_gone, cut_off };

struct Event {
  enum Kind { view_changed, ended } kind{};
  std::vector<NodeId> dead;  // view_changed: since the last one
  // Of the head, for each of them: how long nothing had been heard of it, 0: its connection was closed.
  std::vector<std::uint32_t> silent_ms;
  EndReason reason{};        // ended: this agent must end, with its ranks
};

class Membership {
 public:
  // What becomes of a frame: taken here; items for the tree; refused: of a dead agent, or of nobody.
  enum class Verdict { taken, items, refused };

  Membership(const MembershipOptions& options, int agents, int fan_out, NodeId self, Instant now);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const tree::Shape& shape() const { return view_.shape(); }
  ViewVersion version() const { return view_.version(); }
  bool ended() const { return ended_; }
  // The silence after which a watched neighbour is found dead; nothing for others.
  std::optional<std::int64_t> threshold_ns(NodeId node) const;

  void on_started(Instant now);  // all agents have joined
  // The job ends: from now on agents leave, and nobody is found dead for it.
  void on_ending() { ending_ = true; }
  // `from` is the agent that proved itself on this connection.
  Verdict on_frame(Instant now, NodeId from, const wire::TreeFrame& frame);
  void on_host_heard(NodeId peer, Instant then);  // the network of its host acknowledged something
  void on_closed(Instant now, NodeId peer);  // its connection, by it or by the network
  void on_found_dead(Instant now, NodeId agent);  // the head: it has learned so otherwise
  void on_timeout(Instant now);
  // In the midst of something long, every few milliseconds: nothing of the others' is read meanwhile, which is not held against them, and
  // they hear that this one is there.
  void on_busy(Instant now);

  std::optional<Instant> next_deadline() const;
  bool poll_event(Event& out);
  bool poll_transmit(Transmit& out);

 private:
  struct Finding {
    ViewVersion version{};  // of the agent that found it
    std::uint32_t silent_ms = 0;
    friend bool operator==(const Finding&, const Finding&) = default;
  };
  using Suspects = std::map<NodeId, Finding>;
  struct Turn {
    NodeId parent = head_node;
    ViewVersion since{};
  };
  struct Watched {
    Watch watch;
    bool orphan = false;  // no child: the child of a dead one, until it has told its version
  };

  // ---- membership.cpp: frames, timers
  void notice_pause(Instant now);
  void forgive_all(std::int64_t late, Instant now);
  void on_heartbeat(Instant now, NodeId from, const wire::TreeFrame& frame);
  void on_view_frame(Instant now, NodeId from, const wire::TreeFrame& frame);
  void look_for_silence(Instant now);
  void beat(Instant now);
  void ask_above();
  void end(EndReason reason);
  void send(NodeId to, wire::TreeKind kind, std::vector<std::byte> frame);
  void send_heartbeat(NodeId to);
  void send_empty(NodeId to, wire::TreeKind kind);
  void send_view(NodeId to, ViewVersion since);

  // ---- decisions.cpp: who is found dead, and what follows
  Suspects suspects() const;
  void on_suspects(Instant now);
  std::vector<wire::DeathEntry> to_decide() const;
  void note_turns();
  void decide(Instant now);
  void apply(Instant now, ViewVersion to, const std::vector<wire::DeathEntry>& deaths, const Suspects& found);
  std::vector<NodeId> orphans_of(const std::vector<wire::DeathEntry>& deaths) const;
  void renew_watches(Instant now, const std::vector<NodeId>& orphans);
  void tell_below(ViewVersion before);

  MembershipOptions options_;
  NodeId self_;
  View view_;
  NodeId parent_ = head_node;
  std::map<NodeId, Watched> watched_;           // children, and orphans of the dead
  std::map<NodeId, Suspects> reported_;         // by children
  std::set<NodeId> found_dead_;                 // of the head: see on_found_dead
  std::map<NodeId, ViewVersion> peer_versions_; // of those heard or told
  Suspects told_;                               // to the parent, last
  bool started_ = false, ending_ = false, ended_ = false;
  Instant parent_heard_{};
  std::size_t asked_ = 0;  // questions to those above the parent
  // Timers. next_beat_ is always armed: who finds itself called long after it did not run in between.
  Instant next_beat_{};
  Timer decision_;       // the head: when it decides
  Timer parent_closed_;  // when an agent whose parent's connection is closed ends
  std::optional<Instant> decided_;
  std::vector<Turn> turns_;  // of the head: by agent, to which parent and with which version
  std::deque<Event> events_;
  std::deque<Transmit> out_;
};

}  // namespace hf::core::membership
