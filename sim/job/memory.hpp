// What a node keeps of its ranks' incarnations: logs that outlive the process and not the node (src/segment/ in a real job).
#pragma once
#include <map>
#include <vector>

#include "sim/job/frame.hpp"

namespace hf::sim::job {

struct Stream {  // of one sender to one receiver
  std::vector<Frame> records;
  std::size_t published = 0;  // others read no further
};

struct RankLog {
  Rank rank{};
  Incarnation incarnation{};
  std::map<Rank, Stream> streams;
  std::vector<std::byte> events;
  TestClock last_failed{};
  bool ended = false;
  // Questions that wait until there is more: docs/log_service.md, `follow`.
  struct Follower {
    Rank reader{};
    Incarnation incarnation{};
    std::uint64_t question = 0;
    std::size_t position = 0;
  };
  std::vector<Follower> followers;
};

}  // namespace hf::sim::job
