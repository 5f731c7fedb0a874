// What is a head's and outlives it, where another one can go on for it (head_keeper.hpp): the job's key, the socket at which agents find
// it, and a few facts.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/event_logger/places.hpp"
#include "daemon/control_messages.hpp"
#include "daemon/job.hpp"
#include "daemon/launcher/launcher.hpp"
#include "daemon/watch/job_watch.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

// What a head has decided of a rank, before anybody is told: where it starts again, and who may have its determinants. The head may be
// killed while it writes: what counts is `decided[current % 2]`.
struct RankFacts {
  struct Decided {
    std::uint32_t incarnation = 0;  // the first of this hosting
    std::uint32_t term = 0;
    std::int32_t agent = 0;
    core::event_logger::Places::Facts places;
    // Of the agent that these name: core::event_logger::Holding.
    std::uint32_t generation = 0;
    struct Copy {
      std::int32_t holder = -1;
      std::uint32_t generation = 0;
    };
    std::array<Copy, event_copies_max> copies{};
    std::uint32_t rolled_back_term = 0;  // of the last hosting that began with a rollback (docs/optimist.md); 0: none
  };
  std::array<Decided, 2> decided{};
  std::atomic<std::uint32_t> current = 0;
  std::atomic<std::uint32_t> unprotected = 0;    // wire::UnprotectReason, plus 1; 0: it is not
  std::atomic<std::int64_t> unprotected_ns = 0;  // since when
  // For those who watch, and the report. Of two in turn too.
  std::array<RankPast, 2> past{};
  std::atomic<std::uint32_t> current_past = 0;
};

// In memory that a head shares with its keeper and with the heads after it.
struct HeadFacts {
  std::atomic<bool> started = false;            // all ranks have: from then on another head can go on
  std::atomic<std::int64_t> started_ns = 0;     // of the job, real time
  std::atomic<std::int64_t> begun_ns = 0;       // the same moment, monotonic
  std::atomic<std::int64_t> kills_from_ns = 0;  // from when injections count, monotonic; 0: not yet
  std::atomic<bool> ending = false;
  std::atomic<int> exit_code = 0;        // once ending
  std::atomic<std::uint64_t> read = 0;   // position up to which clients have shown the kept output
  std::atomic<std::int32_t> groups = 0;  // given so far
  std::atomic<std::uint64_t> input_bytes = 0;  // kept in HeadSeat::input, before any of it is passed on
  std::atomic<bool> input_ended = false;
  std::atomic<bool> left = false;     // the agents were told to leave: nobody comes back
  std::atomic<bool> written = false;  // report and record
  std::atomic<std::uint32_t> cut_count = 0;  // of announced_cuts()

  RankFacts& rank(int number) { return reinterpret_cast<RankFacts*>(this + 1)[number]; }
  // In the order in which they were announced; the first cut_count of them.
  EventsCut* announced_cuts() { return reinterpret_cast<EventsCut*>(&rank(ranks)); }
  static std::size_t cuts_max(int ranks) { return static_cast<std::size_t>(ranks) * wire::board_cuts_max; }
  // Whether that agent may have determinants of the rank, as of either decision: of the last settled hosting, of one since.
  static constexpr std::uint8_t settled_place = 1, begun_place = 2, place_bits = 2;
  std::atomic<std::uint8_t>& may_hold(int rank_number, int agent) {
    auto* bits = reinterpret_cast<std::atomic<std::uint8_t>*>(announced_cuts() + cuts_max(ranks));
    return bits[static_cast<std::size_t>(rank_number) * static_cast<std::size_t>(agents) + static_cast<std::size_t>(agent)];
  }
  std::atomic<std::uint8_t>& lost(int agent) { return may_hold(ranks, agent); }
  int ranks = 0, agents = 0;
};

struct HeadSeat {
  JobKey key{};
  os::TcpListener listener;
  bool loopback_only = false;
  os::UniqueFd input;          // memory file of what rank 0 was given; none: nobody goes on for this head
  HeadFacts* facts = nullptr;  // null: the same
  std::uint32_t epoch = 0;     // number of the head; connections of an earlier one's tree count no more

  bool is_first() const { return epoch == 0; }
};

// Makes it one for which another head can go on.
Result<> keep_seat(HeadSeat& seat, int ranks, int agents);
// A key and a socket for agents on these hosts.
Result<HeadSeat> make_head_seat(const LaunchOptions& options, const std::vector<std::string>& hosts);

}  // namespace hf::daemon
