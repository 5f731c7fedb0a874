// Carries out the injections that have a time: of ranks, of nodes, of the network between nodes. Those at a call or a point travel in
// the rank's welcome.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "daemon/injection.hpp"
#include "daemon/timeline.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class KillPlan {
 public:
  struct Handlers {
    std::function<void(int rank)> kill;
    std::function<bool(int node)> kill_node;  // false: it is gone already
    std::function<bool(int node, std::int64_t for_ns)> pause_node;
    std::function<bool(int node, std::int64_t for_ns)> hold_events;
    std::function<bool(int node, std::int64_t for_ns)> disk_fault;  // 0: it is full
    std::function<std::vector<int>()> nodes;  // that live and have ranks
    std::function<bool(const Injection& partition)> partition;  // false: another one has not healed yet
    std::function<void()> kill_head;          // does not return
  };
  KillPlan(os::EventLoop& loop, const std::vector<Injection>& injections, int rank_count, Handlers handlers)
      : loop_(loop),
        injections_(injections),
        running_(static_cast<std::size_t>(rank_count), true),
        handlers_(std::move(handlers)) {}
  void start(Instant zero);  // all ranks have returned from MPI_Init: times count from here
  // In a head that goes on for another: times count from the same moment, and what should have happened by now is not repeated.
  void resume(Instant zero, Instant now, std::uint32_t head);
  void on_rank_over(int rank) { running_[static_cast<std::size_t>(rank)] = false; }
  void on_rank_again(int rank) { running_[static_cast<std::size_t>(rank)] = true; }  // it had finished, and runs once more
  void pass(const char* point);  // of the head
  void stop();  // the job ends
  // Faults at a time that never came, or came after their rank had finished, and at calls and points that were not reached; one line each.
  // `first_head`: all that was passed and all that has happened is known.
  std::vector<std::string> not_carried_out(const Timeline& timeline, bool first_head) const;

 private:
  struct Random {
    RandomKills kills;
    bool of_nodes = false;
    os::EventLoop::TimerId timer = 0;
  };
  bool carry_out(const Injection& injection);
  std::string why_not_carried_out(const Injection& injection, const Timeline& timeline, bool first_head) const;
  void arm(Random& random);
  void begin(Instant random_zero, Instant past, std::uint32_t head);
  void strike(Random& random);

  os::EventLoop& loop_;
  const std::vector<Injection>& injections_;
  std::vector<bool> running_;
  Handlers handlers_;
  Instant zero_{}, random_zero_{};
  std::vector<os::EventLoop::TimerId> timers_;
  std::vector<const Injection*> done_;
  std::map<std::string, std::uint64_t> passes_;  // of the head's points
  std::list<Random> randoms_;
  bool stopped_ = false;
};

}  // namespace hf::daemon
