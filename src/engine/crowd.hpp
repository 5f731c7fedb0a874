// Whether others than the job's ranks want the machine's cores (docs/decisions/0020). A yield then lets them have one for milliseconds, and
// who waits had better sleep: whoever is woken comes before those that compute. Pure.
#pragma once
#include <algorithm>
#include <cstdint>

namespace hf::engine {

class Crowd {
 public:
  static constexpr std::int64_t long_ns = 1'000'000;       // a yield to another rank that waits takes a thousandth of that
  static constexpr std::int64_t together_ns = 200'000'000;  // long yields count that lie in so much time,
  static constexpr int between_max = 32;                    // with so few short ones between two
  static constexpr std::int64_t sleeps_ns_min = 50'000'000, sleeps_ns_max = 1'000'000'000;
  static constexpr std::int64_t remembered_ns = 10'000'000'000;
  static constexpr int sure = 3;

  // Those who wait sleep at once.
  bool sleeps(std::int64_t now) const { return now < until_; }
  // The kernel has the ranks where there is room for them.
  bool was_here(std::int64_t now) const { return now < until_ + remembered_ns; }

  // A rank that yields has looked at those times and not between. When that was long it asks how many processes run, and how many ranks
  // of the job are awake: it may have been a rank that computes, and then there is nothing better.
  template <class Running, class Awake>
  void on_yielded(std::int64_t from, std::int64_t to, Running running, Awake awake) {
    if (to - from < long_ns) {
      short_ = std::min(short_ + 1, between_max + 1);
      return;
    }
    if (to - long_at_ > together_ns || short_ > between_max) seen_ = 0;
    long_at_ = to;
    short_ = 0;
    seen_ = running() > awake() ? seen_ + 1 : std::max(seen_ - 1, 0);
    if (seen_ < sure) return;
    seen_ = 0;
    sleeps_ns_ = to - until_ < together_ns ? std::min(2 * sleeps_ns_, sleeps_ns_max) : sleeps_ns_min;
    until_ = to + sleeps_ns_;
  }

 private:
  int seen_ = 0;   // long yields with others about, more than without
  int short_ = 0;  // since the last long one
  std::int64_t long_at_ = -together_ns;
  std::int64_t until_ = -remembered_ns, sleeps_ns_ = sleeps_ns_min;
};

}  // namespace hf::engine
