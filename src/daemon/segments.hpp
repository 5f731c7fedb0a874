// All control and log segments of a node's ranks, of every incarnation, kept until the job ends (design rule 9).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "daemon/segment_pool.hpp"
#include "base/ids.hpp"
#include "os/mapping.hpp"
#include "os/unique_fd.hpp"
#include "segment/carried_events.hpp"
#include "segment/control.hpp"
#include "segment/log_reader.hpp"
#include "wire/bootstrap.hpp"
#include "wire/recorder.hpp"

namespace hf::daemon {

struct SegmentLimits {
  std::uint64_t memory_bytes_max = 0;  // of log segments, per rank, over all its incarnations
  std::uint64_t disk_bytes_max = 0;
  std::string directory;
  std::uint64_t segment_bytes = 0;  // of each log segment
  std::uint64_t ready_bytes = 0;    // of log segments, made and touched ahead for all ranks of the node
};

// A multiple of the chunk size, such that a rank's limit is several segments.
std::uint64_t choose_segment_bytes(std::uint64_t memory_bytes_max);

class SegmentStore {
 public:
  SegmentStore(int rank_count, SegmentLimits limits);

  // The control segment of a new incarnation; incarnations of a rank are created in order, from 0 or from the first that begin_at names.
  Result<> create_incarnation(int rank);
  // The rank was hosted elsewhere before: `first` stands for all its incarnations until then, and its log holds their events and their
  // last failed test, nothing else. Before create_incarnation.
  // There may be gigabytes: `on_busy` is called after each piece.
  using OnBusy = std::function<void()>;
  Result<> begin_at(int rank, std::uint32_t first, Bytes events, TestClock last_failed, const OnBusy& on_busy);
  // The same for a rank of this node that is rolled back: what its incarnations so far had logged nobody asks for any more. It stays, since
  // their peers may be reading it.
  Result<> roll_back(int rank, std::uint32_t first, Bytes events, const OnBusy& on_busy);
  std::uint32_t first_incarnation(int rank) const { return ranks_[static_cast<std::size_t>(rank)].first; }
  // The rank's event stream over all its incarnations: how far it is published, and bytes of it. False: damaged.
  struct EventExtent {
    std::uint64_t end = 0;
    TestClock last_failed{};
  };
  EventExtent event_extent(int rank) const;
  bool read_events(int rank, std::uint64_t position, MutableBytes out);
  EventExtent carried_extent(int rank) const;  // what it may have given to ranks of the holder's node
  // What any rank here took of another node's rank, of that term, in order of position.
  std::vector<segment::CarriedEvents::Piece> carried(Rank of, Term term) const;
  // Whole events from `position` to `end`, in pieces, since there may be gigabytes, until there were `enough` bytes. Returns where they end; nothing:
  // damaged.
  std::optional<std::uint64_t> walk_events(int rank, std::uint64_t position, std::uint64_t end, std::uint64_t enough,
                                           const std::function<void(Bytes)>& take);
  void read_past_words(int rank, wire::PastInfo& info) const;  // clock_reads, thread_turns
  struct Segment {
    int fd = -1;  // read-write; the store's
    wire::SegmentInfo info;
  };
  // The next log segment of the newest incarnation, or Exhausted. At the limit, what the ended incarnations' segments no
  // longer hold is given back first.
  Result<std::variant<Segment, wire::Exhausted>> create_log(int rank);
  // The streams to `receiver` of the rank's ended incarnations are not needed any more.
  void forget(int rank, int receiver);
  // fd -1: there is none.
  Segment find(const wire::SegmentName& name) const;
  // Of a local rank's incarnation; empty when it was never created.
  segment::ControlView control(int rank, std::uint32_t incarnation) const;
  // Read-only views that stay as long as the store; empty when there is none.
  Bytes control_bytes(int rank, std::uint32_t incarnation) const;
  Bytes log_bytes(int rank, std::uint32_t incarnation, std::uint32_t index);
  int control_fd(int rank, std::uint32_t incarnation) const;
  // What the rank's logs take, of all its incarnations.
  std::uint64_t memory_bytes(int rank) const { return ranks_[static_cast<std::size_t>(rank)].memory_bytes; }
  std::uint64_t disk_bytes(int rank) const { return ranks_[static_cast<std::size_t>(rank)].disk_bytes; }
  // Before a rank has logged.
  void set_limits(std::uint64_t memory_bytes_max, std::uint64_t ready_bytes);
  const SegmentLimits& limits() const { return limits_; }
  void prepare(bool cores_are_taken) { pool_.start(cores_are_taken); }  // log segments will be asked for

 private:
  struct Log {
    os::UniqueFd fd;
    bool on_disk = false;
    std::uint64_t held_bytes = 0;  // counted against the limit
    os::Mapping mapping;           // read-only; once another node has asked for it, or its chunks were counted
  };
  struct Incarnation : segment::SegmentMap {
    Bytes segment(std::uint32_t index) override;
    os::UniqueFd control;
    os::Mapping control_mapping;
    std::vector<Log> logs;
    segment::LogReader events;  // for read_events, by several who are at different places
    std::vector<segment::ChunkId> event_chunks;
  };
  struct PerRank {
    std::uint32_t first = 0;
    std::vector<std::unique_ptr<Incarnation>> incarnations;
    std::map<std::uint32_t, std::unique_ptr<Incarnation>> rolled_back;  // those before them, by number: of older terms
    std::uint64_t memory_bytes = 0, disk_bytes = 0;
    bool may_give_back = false;  // an incarnation has ended, or a stream was forgotten, since the last time
  };
  static constexpr std::uint64_t walk_bytes = 1 << 20;  // at a time
  Result<std::variant<Segment, wire::Exhausted>> create_within_limits(PerRank& owner);
  void give_back(PerRank& owner);
  void give_back(PerRank& owner, Incarnation& ended);
  Incarnation* incarnation(int rank, std::uint32_t number) const;
  segment::ControlView view_of(const Incarnation& incarnation) const;

  int rank_count_;
  SegmentLimits limits_;
  SegmentPool pool_;
  std::vector<PerRank> ranks_;
  std::vector<std::byte> walked_;  // a piece of a stream, walk_events'
};

}  // namespace hf::daemon
