// A simulated node: its agent, joined to core/event_logger as src/daemon/ joins it, and the memory in which its ranks' logs stand.
// node.cpp: ranks and their logs; keeper.cpp: determinants on other nodes.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/event_logger/found.hpp"
#include "core/event_logger/sender.hpp"
#include "core/event_logger/store.hpp"
#include "sim/job/head.hpp"
#include "sim/job/memory.hpp"
#include "sim/job/process.hpp"

namespace hf::sim::job {

using core::event_logger::Sender;
using core::event_logger::Store;
using Extent = Sender::Extent;

class Node {
 public:
  Node(World& world, NodeId self);

  // ---- node.cpp: for its processes
  const std::vector<std::unique_ptr<RankLog>>& past(Rank rank) { return hosts_.at(rank).logs; }
  BoardEntry board(Rank rank) const;
  Extent stable(Rank rank) { return hosts_.at(rank).told; }
  void determined(Rank rank);  // it has written events, and knew of none that are not stable
  void on_published(RankLog& log, Rank to);
  void on_finished(Process& process);
  // ---- for other nodes' processes
  void on_question(Rank source, Incarnation incarnation, const RankLog::Follower& question, bool follow);
  const RankLog* log(Rank rank, Incarnation incarnation) const;

  // ---- what happens to it
  void host(Rank rank, Term term);  // from the start of the job
  void start_first(Rank rank);
  void kill(Process& process);
  void on_board(Rank rank, const BoardEntry& entry);
  void end(bool silent);            // the agent, with all its ranks
  void pause() { paused_ = true; }
  void resume();
  bool dead() const { return dead_; }
  bool paused() const { return paused_; }
  void defer(std::function<void()> action) { deferred_.push_back(std::move(action)); }
  NodeId id() const { return self_; }
  std::int64_t& control_last() { return control_last_; }  // arrival of what the head sent last

  // ---- keeper.cpp
  void set_holder(NodeId holder, Generation generation);
  void on_holder_closed(NodeId holder);
  void lose_holder_connection();
  void adopt(Adoption adoption);
  void on_place_lost(NodeId place);
  void forget(Rank rank, Term below) { store_.forget(rank, below); }

 private:
  struct Host {
    Term term{};
    std::vector<std::unique_ptr<RankLog>> logs;
    std::unique_ptr<Process> process;
    Extent told;
  };
  struct Fetch {
    Adoption adoption;
    std::map<Rank, core::event_logger::Found> found;
    std::map<NodeId, std::size_t> missing;
  };
  // node.cpp
  void start(Rank rank, Incarnation incarnation);
  void end_log(RankLog& log);
  // keeper.cpp
  Extent written(const Host& host) const;
  std::vector<std::byte> read_events(const Host& host, std::uint64_t begin, std::uint64_t end) const;
  void look(Rank rank);
  void tell(Rank rank);
  void pump();
  void connect();
  void on_append(Node& from, std::uint64_t visit, const Sender::Append& append, const std::vector<std::byte>& bytes);
  void on_answer(std::uint64_t visit, Rank rank, Term term, const Extent& extent);
  void next_adoption();
  void on_content(NodeId place, Rank rank, core::event_logger::Found found);
  void adopt_all();

  World& world_;
  NodeId self_;
  bool dead_ = false, paused_ = false;
  std::vector<std::function<void()>> deferred_;
  std::map<Rank, Host> hosts_;
  std::unordered_map<Rank, BoardEntry> board_;  // what is not as at the start
  std::int64_t control_last_ = 0;
  Sender sender_{4 << 20};
  Store store_{1ull << 40};
  NodeId holder_{-1};
  Generation generation_{};
  bool has_holder_ = false;
  std::uint64_t visit_ = 0;      // number of the connection to the holder; changes when it ends
  std::int64_t visit_last_ = 0;  // arrival of what was sent on it last
  std::deque<Adoption> adoptions_;
  std::unique_ptr<Fetch> fetch_;
};

}  // namespace hf::sim::job
