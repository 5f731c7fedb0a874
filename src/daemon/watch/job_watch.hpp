// What the head knows of the ranks of a running job, for those who watch it: their states from the agents' events, numbers and rates
// from the agents' samples. Pure: times come with the samples. Everything is a hint; nothing of the job depends on it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "daemon/control_messages.hpp"
#include "segment/waiting.hpp"

namespace hf::daemon {

enum class WatchedState {
  starting,   // MPI_Init has not returned
  running,
  waiting,    // for a millisecond or more, inside an MPI call
  replaying,  // a later incarnation, which repeats what its predecessors did
  dead,       // and will be started again
  finished,   // its process has ended, cleanly
};
inline constexpr int watched_state_count = 6;
std::string_view name_of(WatchedState state);

struct RankRow {
  int rank = 0;
  int node = 0;  // where it is now
  WatchedState state = WatchedState::starting;
  bool unprotected = false;
  std::uint32_t incarnation = 0;
  std::uint64_t restarts = 0;
  std::uint64_t call = 0;           // number of the MPI call last begun
  Rank waits_for = segment::no_rank;  // while waiting
  double waits_s = 0;
  std::uint64_t log_memory_bytes = 0, log_disk_bytes = 0;
  segment::Counters totals{};  // over all incarnations, as the report has them; never goes down
  double messages_sent_per_s = 0, bytes_sent_per_s = 0, messages_received_per_s = 0, bytes_received_per_s = 0;
};

// What is known of a rank's incarnations, for another head that goes on for this one: it hears of those of its present agent alone.
struct RankPast {
  std::uint32_t started = 0;      // 1: an incarnation has been started, the newest of them is `incarnation`
  std::uint32_t incarnation = 0;
  std::uint64_t restarts = 0;
  segment::Counters before{};   // of those before it
  segment::Counters current{};  // of it, as far as known
};

class JobWatch {
 public:
  explicit JobWatch(const std::vector<std::int32_t>& node_of_rank);

  void on_event(int node, const Event& event, Bytes text);
  void on_sample(int node, Bytes payload);  // of a `sample`
  void on_moved(int rank, int node);        // its node is lost: it dies there, and starts again here
  RankPast past(int rank) const;
  void recall(int rank, int node, const RankPast& past);  // as a head before this one knew it. What its agent tells again is not counted again
  // Nobody has watched for a while: rates are of two samples from now on.
  void begin();
  // How often every node that has ranks has been sampled since.
  int samples() const;

  int rank_count() const { return static_cast<int>(ranks_.size()); }
  RankRow row(int rank) const;
  // All ranks together: totals, log sizes and rates are sums, the rest means nothing.
  RankRow sum() const;
  std::array<int, watched_state_count> states() const;  // how many ranks are in each

 private:
  struct Sampled {
    std::int64_t time_ns = 0;  // of the agent's clock; 0: none
    RankSample values{};
  };
  struct Watched {
    int node = 0;
    bool started = false, initialized = false, replaying = false, dead = false, finished = false, unprotected = false;
    std::uint32_t incarnation = 0;
    std::uint64_t restarts = 0;
    segment::Counters before{};   // of the incarnations before
    segment::Counters current{};  // of this one, as far as known
    bool concluded = false;       // it has ended, and `current` is final
    Sampled newest, previous;     // of this incarnation
    int samples = 0;
  };
  void start(Watched& rank, std::uint32_t incarnation);
  void conclude(Watched& rank, std::uint32_t incarnation, Bytes counters);
  void take(int node, std::int64_t time_ns, const RankSample& sample);
  WatchedState state(const Watched& rank) const;

  std::vector<Watched> ranks_;
};

}  // namespace hf::daemon
