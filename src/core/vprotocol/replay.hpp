// Replays the determinants that the predecessors of an incarnation left (design section 6.4; paper 000, IV.A.3-4).
// Pure. Fed once with the event logs of all predecessors, oldest first; then asked by the same calls that recorded.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "core/vprotocol/events.hpp"

namespace hf::core::vprotocol {

class Replay {
 public:
  // One event of a predecessor. False: implausible (a damaged log); the caller ends the job.
  // Records of dependencies are passed over: they are nothing that the program repeats.
  bool load(const EventHead& head, std::span<const std::int32_t> indices);
  // Behind the last load, before anything is asked. False: implausible.
  bool end_loading();
  // The clock of the last test that a predecessor is known to have made and that found nothing.
  void load_last_failed(TestClock clock);

  // Everything recorded has been consumed: the rank runs freely from here.
  bool over() const { return pending_ == 0 && clock_ >= last_clock_; }
  std::uint64_t consumed() const { return consumed_; }
  // The last test that an event tells of, if only that it found nothing.
  TestClock last_recorded() const { return last_recorded_; }

  // A receive or blocking probe is posted.
  struct Receive {
    enum Kind { unrecorded, forced, cancelled } kind = unrecorded;
    Rank source = any_rank;  // forced
  };
  Receive on_post(RequestNumber number);  // numbers rise

  // A completion test begins; clocks rise by one each test. Beyond the record: free.
  struct Test {
    enum Kind { free, nothing, exactly, diverged } kind = free;
    std::span<const std::int32_t> which;  // valid until the next call
  };
  Test on_test(TestClock clock);

  bool take_time(double& value);                         // false: none recorded
  bool take_cancel(RequestNumber number, bool& outcome);  // false: none recorded

 private:
  struct Match {
    RequestNumber number;
    Rank source;
  };
  struct Delivery {
    TestClock clock;
    std::size_t first, count;  // of indices_
  };
  void consume() { --pending_, ++consumed_; }
  std::vector<Match> matches_;  // by number: requests are posted in this order
  std::size_t next_match_ = 0;
  std::unordered_map<RequestNumber, bool> cancels_;
  std::vector<Delivery> deliveries_;
  std::size_t next_delivery_ = 0;
  std::vector<std::int32_t> indices_;
  std::deque<double> times_;
  std::uint64_t pending_ = 0;  // recorded events not yet consumed
  std::uint64_t consumed_ = 0;
  TestClock clock_{};       // of the last test replayed
  TestClock last_clock_{};  // of the last test recorded
  TestClock last_recorded_{};  // the same, but for load_last_failed()
};

}  // namespace hf::core::vprotocol
