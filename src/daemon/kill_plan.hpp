// Carries out the injections that have a time: kill:rank=R,at=T and kill:random. Those at a call or a point travel in
// the rank's welcome.
#pragma once
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "daemon/injection.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class KillPlan {
 public:
  KillPlan(os::EventLoop& loop, const std::vector<Injection>& injections, int rank_count, std::function<void(int)> kill)
      : loop_(loop),
        injections_(injections),
        running_(static_cast<std::size_t>(rank_count), true),
        kill_(std::move(kill)) {}
  void start(Instant zero);  // all ranks have returned from MPI_Init: times count from here
  void on_rank_over(int rank) { running_[static_cast<std::size_t>(rank)] = false; }
  void stop();  // the job ends
  // Kills at a time that never came, or came after their rank had finished; one line each.
  std::vector<std::string> not_carried_out() const;

 private:
  struct Random {
    RandomKills kills;
    os::EventLoop::TimerId timer = 0;
  };
  void arm(Random& random);
  void strike(Random& random);

  os::EventLoop& loop_;
  const std::vector<Injection>& injections_;
  std::vector<bool> running_;
  std::function<void(int)> kill_;
  Instant zero_{};
  std::vector<os::EventLoop::TimerId> timers_;
  std::vector<const Injection*> done_;
  std::list<Random> randoms_;
  bool stopped_ = false;
};

}  // namespace hf::daemon
