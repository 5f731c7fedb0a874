// A simulated node: its agent, joined to core/event_logger as src/daemon/ joins it, and the memory in which its ranks' logs stand.
// node.cpp: ranks and their logs; keeper.cpp: determinants on other nodes and in files; taking_over.cpp: ranks that are taken over;
// orphans.cpp: under optimist, cuts, orphans, who knows what is stable.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/event_logger/copies.hpp"
#include "core/event_logger/found.hpp"
#include "core/event_logger/store.hpp"
#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"
#include "sim/job/event_files.hpp"
#include "sim/job/head.hpp"
#include "sim/job/memory.hpp"
#include "sim/job/process.hpp"

namespace hf::sim::job {

using core::event_logger::Copies;
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
  // Under optimist: what it reads in the board. `seen` is how far the reader has; `all`: also what has only just been written.
  bool read_cuts(std::size_t& seen, bool all, core::vprotocol::CutTable& out) const;
  const core::vprotocol::StableVector& known_stable() const { return stable_; }
  std::vector<std::byte> stream(Rank rank) const;  // its events
  Term term(Rank rank) const { return hosts_.at(rank).term; }
  // Ranks that came here together (docs/node-loss.md, Who is local).
  std::uint64_t home(Rank rank) const { return static_cast<std::uint64_t>(self_.value) << 32 | hosts_.at(rank).group; }
  bool has_together(Rank one, Rank other) const { return hosts_.contains(other) && home(one) == home(other); }
  void on_stopped(Rank rank, Incarnation incarnation);  // it has seen that it is an orphan
  void on_finished(Process& process);
  // ---- for other nodes' processes
  void on_question(Rank source, Incarnation incarnation, const RankLog::Follower& question, bool follow);
  const RankLog* log(Rank rank, Incarnation incarnation) const;

  // ---- what happens to it
  void host(Rank rank, Term term);  // from the start of the job
  void start_first(Rank rank);
  void kill(Process& process);
  bool dies_alone(Rank rank, Incarnation incarnation) const;
  void hear(std::uint64_t number, Rank rank, const BoardEntry& entry);  // from the head: its n-th word to all
  void hear_ends(std::uint64_t last, const std::map<Rank, BoardEntry>& ends);  // several, up to this one
  void end(bool silent);            // the agent, with all its ranks
  void pause() { paused_ = true; }
  void resume();
  bool dead() const { return dead_; }
  bool paused() const { return paused_; }
  void defer(std::function<void()> action) { deferred_.push_back(std::move(action)); }
  NodeId id() const { return self_; }
  bool is_held_by(NodeId other) const;
  NodeId any_holder(std::uint64_t choice) const;  // -1: it has none
  std::int64_t& control_last() { return control_last_; }  // arrival of what the head sent last
  std::int64_t& said_last() { return said_last_; }        // and at the head

  // ---- keeper.cpp
  void set_holder(std::size_t copy, NodeId holder, Generation generation);
  void on_holder_closed(NodeId holder);
  void lose_holder_connection(std::uint64_t choice);
  void slow_holder(std::uint64_t choice);
  bool has_slow_holder() const { return std::ranges::any_of(copies_, &Copy::is_slow); }
  void forget(Rank rank, Term below) { store_.forget(rank, below); }
  void on_settled(Rank rank);
  EventFiles* files() { return files_.get(); }
  Extent written(Rank rank) const { return written(hosts_.at(rank)); }
  std::vector<std::byte> events(Rank rank, std::uint64_t begin, std::uint64_t end) const {
    return read_events(hosts_.at(rank), begin, end);
  }
  void on_stable_on_disk(Rank rank);

  // ---- taking_over.cpp
  void adopt(Adoption adoption);
  void on_place_gone(NodeId place);

  // ---- orphans.cpp
  void on_cut(Rank rank, Term term, std::uint64_t position);
  void begin(std::uint64_t group);  // the head has told the cuts of what it takes over
  void roll_back(Rank rank, Term term, Incarnation incarnation, std::uint64_t cut);
  void on_stable_known(const std::vector<core::vprotocol::Dependency>& known);

 private:
  struct Host {
    Term term{};
    std::uint64_t group = 0;     // of the adoption that it came with; 0: here from the start
    std::vector<std::unique_ptr<RankLog>> logs;
    std::unique_ptr<Process> process;
    Extent told;
    core::vprotocol::RecordedDependencies recorded;  // under optimist
    bool is_looked_at = false;   // determined() was called
    bool is_rolled_back = false; // the head was told that it is an orphan
  };
  struct Fetch {
    Adoption adoption;
    std::map<Rank, core::event_logger::Found> found;
    std::map<NodeId, std::size_t> missing;
    bool files_missing = false;                        // they are not read yet
    bool files_failed = false, nodes_failed = false;   // one of both is enough
    bool place_lost = false;
  };
  struct Copy {
    NodeId holder{-1};
    Generation generation{};
    bool has_holder = false;       // it has been told of one, or that there is none
    bool lacks = false;            // nobody has it: there was no holder, and no connection to one since
    std::uint64_t visit = 0;       // number of the connection to it; changes when it ends
    std::int64_t visit_last = 0;   // arrival of what was sent on it last
    std::int64_t slow_ns = 0;      // what is sent on it is under way for so much longer
    std::optional<std::uint64_t> given_up;  // visit of a holder that was too slow: what is under way still comes there
    bool is_slow() const { return slow_ns > 0 || (given_up && visit == *given_up + 1); }  // and no other is named yet
  };
  // node.cpp
  void on_board(Rank rank, const BoardEntry& entry);
  void tell_of(Rank rank, RankState state);
  void start(Rank rank, Incarnation incarnation);
  void end_log(RankLog& log);
  // keeper.cpp
  Extent written(const Host& host) const;
  std::vector<std::byte> read_events(const Host& host, std::uint64_t begin, std::uint64_t end) const;
  bool alone() const;
  StoredEvents::Wanted wanted() const;
  void want();
  Extent stable_everywhere(Rank rank) const;
  void add_rank(Rank rank, Term term, const Extent& promised);
  void look(Rank rank);
  void look_again(Rank rank);
  void tell(Rank rank);
  void pump();
  void pump(std::size_t copy);
  void connect(std::size_t copy);
  void disconnect(std::size_t copy);
  void on_append(Node& from, std::size_t copy, std::uint64_t visit, const Sender::Append& append, const core::vprotocol::Cuts& cuts,
                 const std::vector<std::byte>& bytes);
  void on_answer(std::size_t copy, std::uint64_t visit, Rank rank, Term term, const Extent& extent);
  // taking_over.cpp
  void next_adoption();
  void ask(NodeId place, const std::vector<AdoptedRank>& ranks);
  void on_content(NodeId place, Rank rank, core::event_logger::Found found);
  void on_files_read(const EventFiles::FoundOf& found, bool failed);
  void keep_found(Rank rank, core::event_logger::Found found);
  void on_place_lost(NodeId place);
  void conclude_fetch();
  void adopt_all();
  // orphans.cpp
  void look_for_orphans();
  bool look_at(Rank rank);
  void propose(std::unique_ptr<Fetch> fetch);
  void cut_found(Fetch& fetch) const;
  void set_up(const AdoptedRank& adopted, std::uint64_t group, core::event_logger::Found& found);
  void replace_logs(Host& host, Rank rank, Incarnation incarnation, std::vector<std::byte> events, TestClock last_failed);
  void know_stable(Rank rank, Term term, std::uint64_t end);
  void tell_ranks();
  void spread();
  void meet(Node& holder);

  World& world_;
  NodeId self_;
  bool dead_ = false, paused_ = false;
  std::vector<std::function<void()>> deferred_;
  std::map<Rank, Host> hosts_;
  std::unordered_map<Rank, BoardEntry> own_board_;  // of its ranks, before the head says it
  std::uint64_t heard_ = 0;                         // of what the head tells everybody
  std::int64_t control_last_ = 0, said_last_ = 0;
  Copies sent_;
  std::vector<Copy> copies_;  // by number
  std::unique_ptr<EventFiles> files_;
  Store store_{1ull << 40};
  std::deque<Adoption> adoptions_;
  std::unique_ptr<Fetch> fetch_;
  // under optimist
  struct Cut {
    Rank rank{};
    Term term{};
    std::uint64_t position = 0;
    Instant written{};
  };
  std::vector<Cut> cut_log_;                  // of the board
  core::vprotocol::CutTable cuts_;
  std::size_t cuts_heard_ = 0;
  core::vprotocol::StableVector stable_;      // of the board
  std::map<NodeId, std::uint64_t> told_;      // what others were told of it
  bool spreads_ = false, tells_ = false;
  std::map<std::uint64_t, std::unique_ptr<Fetch>> proposed_;
};

}  // namespace hf::sim::job
