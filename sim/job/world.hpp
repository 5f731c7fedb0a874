// All nodes and processes of a run, their clock and network, and the faults.
#pragma once
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "sim/events.hpp"
#include "sim/job/checker.hpp"
#include "sim/job/directory.hpp"
#include "sim/job/head.hpp"
#include "sim/job/network.hpp"
#include "sim/job/node.hpp"
#include "sim/job/options.hpp"
#include "sim/job/pace.hpp"
#include "sim/job/traffic_plan.hpp"
#include "sim/job/random.hpp"

namespace hf::sim::job {

class World {
 public:
  World(const JobOptions& options, const std::vector<Fault>& faults);
  ~World();
  JobOutcome run();

  const JobOptions& options() const { return options_; }
  Checker& checker() { return checker_; }
  Random& random() { return random_; }
  Pace& pace() { return pace_; }
  Events& events() { return events_; }
  Network& network() { return network_; }
  Directory& directory() { return directory_; }
  TrafficPlan& plan() { return plan_; }
  Head& head() { return head_; }
  Node& node(NodeId id) { return *nodes_[static_cast<std::size_t>(id.value)]; }
  Instant now() const { return events_.now(); }
  BoardEntry original(Rank rank) const;
  std::int64_t latency(bool local) { return pace_.latency(local); }
  // Behind what arrives last there, of something that leaves in so many ns.
  std::int64_t latency_in_order(std::int64_t& last, std::int64_t in = 0);

  template <class Action>
  void at_node(Node& node, std::int64_t in, Action action) {
    events_.in(in, [&node, action = std::move(action)]() mutable {
      if (node.dead()) return;
      if (node.paused()) return node.defer(std::move(action));
      action();
    });
  }
  // To the process, if it lives then.
  template <class Action>
  void at_process(Process& process, std::int64_t in, Action action) {
    at_node(process.node(), in, [this, rank = process.self(), incarnation = process.incarnation(), action] {
      if (Process* p = find(rank, incarnation)) action(*p);
    });
  }
  // Now, or when its node goes on; it takes it when it calls MPI.
  template <class Action>
  void to_process(Process& process, Action action) {
    auto deliver = [this, rank = process.self(), incarnation = process.incarnation(), action] {
      Process* p = find(rank, incarnation);
      if (p) p->happen([p, action] { action(*p); });
    };
    if (process.node().paused()) process.node().defer(deliver);
    else deliver();
  }

  void add(Process& process);
  void remove(Process& process);
  Process* find(Rank rank, Incarnation incarnation);
  NodeId node_id_of(Rank rank, Incarnation incarnation);

  // ---- what processes do
  void ask(Process& by, Node* node, Rank source, Incarnation incarnation, const RankLog::Follower& question, bool follow);
  void answer(Node& by, const RankLog::Follower& question, Rank source, Process::Answer answer);
  void fetch(Process& by, Node* node, Rank source, const Frame& message, std::uint64_t question);
  void on_left(Process& process, const Frame& frame);
  void on_finished(Process& process, std::uint64_t result);
  void on_output(Process& process, const Checker::Output& output);
  void on_orphan(Node& node, Rank rank, const Process* process, std::uint64_t cut, std::size_t heard);
  // Fault: what it sends is another message.
  void divert(const Process& process, Frame& frame);
  void on_sent_otherwise(Process& receiver, Rank from, Context context, const core::vprotocol::TakenSums::Difference& difference);
  void count_determinants(std::uint64_t n) { outcome_.determinants += n; }
  void count_wait() { ++outcome_.waits_for_terms; }
  void count_dependencies(const std::vector<std::byte>& bytes) {
    ++outcome_.dependency_frames;
    outcome_.dependency_bytes += bytes.size();
  }
  void count_orphaned() { ++outcome_.orphaned_messages; }
  std::vector<NodeId> listeners(NodeId node);  // whom it tells what is stable
  void on_point(Process& process);
  void on_diverged(Process& process, const char* what);
  void on_node_gone(NodeId node);
  void on_disk_failed(Node& node);
  void end_by_rule(std::string why);

 private:
  // faults.cpp
  void strike(const Fault& fault);
  Process* victim(std::uint64_t choice);
  void kill(Rank rank, Incarnation incarnation);
  void lose_node(NodeId number);
  void lose_related(std::uint64_t choice);
  int living() const;
  void pause_node(std::uint64_t choice);
  void strike_disk(const Fault& fault);
  bool is_close() const;
  void count_loss(bool close);
  void strike_in_rollback(NodeId number, Rank rank);
  NodeId node_victim(std::uint64_t choice);
  void diverge(std::uint64_t choice);
  void stuck();

  JobOptions options_;
  std::vector<Fault> faults_;
  Random random_;
  Pace pace_;
  Events events_;
  Checker checker_;
  Network network_;
  Directory directory_;
  TrafficPlan plan_;
  std::vector<std::vector<Process*>> processes_;  // by rank
  std::vector<std::unique_ptr<Node>> nodes_;
  Head head_;
  JobOutcome outcome_;
  int rollbacks_to_strike_ = 0;
  struct Divergence {
    Rank rank{};
    Incarnation after{};
    std::uint32_t send = 0;
    bool tag = false;  // else the payload
  };
  std::optional<Divergence> divergence_;
  std::uint64_t diverged_at_ = 0;
  int losses_ = 0;        // of nodes, since all determinants were where they survive one
  bool damaged_ = false;  // an event file is
  bool disk_excused_ = false;  // determinants may be lost by what has struck disks, from now on
  bool excused_ = false;  // or more was lost at once than the level survives, and it is not all made good yet
};

}  // namespace hf::sim::job
