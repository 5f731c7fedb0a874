// The head's decisions about nodes, as src/daemon/head_nodes.cpp: who hosts a rank, under which term, who holds whose determinants.
// It does not fail, and reaches every agent in order with a delay: the tree and membership have a simulation of their own.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/event_logger/places.hpp"
#include "sim/job/board.hpp"

namespace hf::sim::job {

class Node;
class World;

struct AdoptedRank {
  Rank rank{};
  Incarnation incarnation{};
  Term term{};
  core::event_logger::Told told;
};

struct Adoption {
  std::vector<AdoptedRank> ranks;
  std::vector<NodeId> places;
  std::uint64_t group = 0;
};

class Head {
 public:
  explicit Head(World& world);
  void begin();  // names the holders

  // ---- what agents say; heard later, unless the agent is declared lost by then
  void report(Node& from, Rank rank, const BoardEntry& entry);
  void on_held(Node& from, Generation generation);
  void on_holder_lost(Node& from, Generation generation);  // it lives, and did not answer for too long
  void on_adopted(Node& from, std::uint64_t group);
  void on_adopt_failed(Node& from);
  // Under optimist: how far the streams of ranks go that it takes over; one of its ranks is an orphan behind this position.
  void on_proposed(Node& from, const Adoption& adoption, std::vector<std::uint64_t> positions);
  void on_orphan(Node& from, Rank rank, Incarnation incarnation, Term term, std::uint64_t cut);

  void lose(NodeId node);  // declared lost: it is, or was silent for too long
  bool all_finished() const { return finished_ == static_cast<int>(hosting_.size()); }
  bool lost(NodeId node) const { return agents_[static_cast<std::size_t>(node.value)].lost; }
  // Every agent's determinants are where they survive its loss, and no rank is on its way.
  bool settled() const;
  bool is_unsettled(NodeId node) const;
  NodeId holder_of(NodeId node, std::uint64_t choice = 0) const;  // any of them; -1: none
  Rank any_rank_of(NodeId node) const;  // rank 0, if it has none
  const Told& told() const { return told_; }  // everybody, of ranks
  NodeId host_of(Rank rank) const { return hosting_[static_cast<std::size_t>(rank.value)].node; }

 private:
  using Copy = core::event_logger::Holding::Copy;
  struct Agent {
    bool lost = false;
    core::event_logger::Holding held;  // by whom
  };
  struct Hosting {
    NodeId node{};
    Incarnation incarnation{};
    RankState state = RankState::running;
    Incarnation log_base{};
    Term term{};
    core::event_logger::Places places;  // of its determinants
    bool moving = false;
    bool rolling = false;  // back: told to, and not started yet
    std::uint64_t group = 0;
  };
  std::vector<Rank> ranks_at(NodeId node) const;
  NodeId choose_holder(NodeId node, const std::set<int>& not_these) const;
  void give_holders(NodeId node);
  void give_holder(NodeId node, std::size_t copy, NodeId not_this);
  void lose_places(NodeId node);
  void settle_held(NodeId node);
  core::event_logger::Told told(const Hosting& hosting) const;
  void move(const std::vector<Rank>& ranks, NodeId to);
  void broadcast(Rank rank);
  void tell_cut(Rank rank, Term term, std::uint64_t position, bool more = false);  // with the next one it is of one adoption
  void gather(Rank rank);
  template <class Action>
  void tell(NodeId node, Action action);
  template <class Action>
  void hear(Node& from, Action action);
  Agent& agent(NodeId node) { return agents_[static_cast<std::size_t>(node.value)]; }
  Hosting& hosting(Rank rank) { return hosting_[static_cast<std::size_t>(rank.value)]; }

  World& world_;
  std::vector<Agent> agents_;
  std::vector<Hosting> hosting_;
  int finished_ = 0;
  std::vector<Rank> ended_;  // and not told yet
  Told told_;
  std::uint64_t groups_ = 0;
};

}  // namespace hf::sim::job
