// What the predecessors of this incarnation have sent, found by name while the rank replays (design section 6.4): a send
// found here is compared and not transmitted, since receivers take it from there.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/peer_log.hpp"

namespace hf::engine {

class SentBefore {
 public:
  // `logs`: own rank's earlier incarnations, oldest first; they must outlive this.
  SentBefore(std::vector<PeerLog*> logs, int rank_count);

  struct Found {
    segment::Record record;
    std::size_t log = 0;  // index into the logs given
  };
  // The record of that name, once; null when no predecessor sent it, or its stream was given back.
  std::optional<Found> take(Rank destination, bool is_acknowledgement, Context context, Sequence sequence);
  // An acknowledgement to this destination has not been taken yet.
  bool holds_acknowledgement(Rank destination);
  // All that the predecessors have sent has been taken: nothing will be found any more.
  bool exhausted();
  // Nothing is looked for any more in the streams to this destination: they are about to be given back.
  void forget(Rank destination) { to_[static_cast<std::size_t>(destination.value)] = {.log = logs_.size()}; }
  // A checkpoint of the destination covers some of it, which is not known any more.
  bool has_dropped(Rank destination) const {
    return std::ranges::any_of(logs_, [&](PeerLog* log) { return log->reader(destination.value).dropped(0); });
  }
  // A stream ended in something that is not a record: what stood behind it cannot be known.
  bool damaged() const { return damaged_; }
  // Compares payload bytes [0, n) with what `fill(offset, out)` yields. Returns the first offset that differs, or n.
  template <class Fill>
  std::uint64_t compare(const Found& found, Rank destination, Fill&& fill) {
    std::vector<Bytes> pieces;
    std::uint64_t n = found.record.header.length, done = 0;
    if (!logs_[found.log]->reader(destination.value).pieces(found.record, 0, n, pieces)) return 0;
    std::vector<std::byte> now;
    for (Bytes piece : pieces) {
      now.resize(piece.size());
      fill(done, MutableBytes(now));
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (piece[i] != now[i]) return done + i;
      }
      done += piece.size();
    }
    return done;
  }

 private:
  using Name = std::tuple<bool, std::uint64_t, std::uint64_t>;  // acknowledgement, context, sequence
  struct Destination {
    std::size_t log = 0;
    std::optional<segment::LogReader> reader;
    std::map<Name, Found> passed;  // read over while looking for another name
  };
  std::optional<Found> next(Destination& to, Rank destination);
  void read_all(Destination& to, Rank destination);
  std::vector<PeerLog*> logs_;
  std::vector<Destination> to_;
  bool damaged_ = false;
};

}  // namespace hf::engine
