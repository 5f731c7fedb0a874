// How an agent keeps the events of its ranks at a holder on another node (docs/node-loss.md). Pure.
//
// Driving it: on_published() when a rank has written events; on_connected() with each new connection to a holder; poll_append()
// until it gives nothing, sending what it names; on_stable() for each answer; then stable() is what the rank may be told.
#pragma once
#include <cstdint>
#include <map>

#include "base/ids.hpp"
#include "core/event_logger/extent.hpp"

namespace hf::core::event_logger {

class Sender {
 public:
  static constexpr std::uint64_t append_bytes_max = 256 << 10;
  // `in_flight_max`: bytes sent and not answered yet, all ranks together. `append_max`: of one piece. `promises`: what this holder answers is stable; false: promise()
  // says what is (copies.hpp).
  explicit Sender(std::uint64_t in_flight_max, bool promises = true, std::uint64_t append_max = append_bytes_max)
      : promises_(promises), in_flight_max_(in_flight_max), append_max_(append_max) {}

  using Extent = event_logger::Extent;
  // A rank hosted here from now on. `promised`: what an earlier hosting may have told to be stable. `told`: what of it is so now.
  void add(Rank rank, Term term, const Extent& promised, const Extent& told);
  void add(Rank rank, Term term, const Extent& promised) { add(rank, term, promised, promised); }
  void on_published(Rank rank, const Extent& extent);
  // Under optimist: the rank's stream ends at `cut`, and goes on under a new term. The holder is asked again.
  void roll_back(Rank rank, Term term, std::uint64_t cut);
  // What the holder of this connection has is asked first: an empty append at what this hosting began with.
  void on_connected(Generation generation);
  void on_disconnected();
  // The rank may have given events of this extent to ranks of the holder that was: the next one must have them too.
  void on_carried(Rank rank, const Extent& extent);
  // No other node is left: what is stored here is all there will be.
  void on_no_holder();

  struct Append {
    Rank rank{};
    Term term{};
    Generation generation{};  // of the holder
    std::uint64_t position = 0, end = 0;  // of the stream
    Extent promised;
    TestClock last_failed{};  // 0 and no bytes: a question
  };
  bool poll_append(Append& append);
  // False: this was not asked, or is more than was sent. Of a term before roll_back(): it says nothing.
  bool on_stable(Rank rank, Term term, const Extent& extent);

  void promise(Rank rank, const Extent& extent);
  const Extent& at_holder(Rank rank) const { return ranks_.at(rank).stable; }  // the present one, as far as it has answered
  const Extent& published(Rank rank) const { return ranks_.at(rank).published; }
  bool is_held(Rank rank) const { return ranks_.at(rank).is_held(); }  // it has all that was ever promised
  bool alone() const { return alone_; }

  // Never goes back but by roll_back(): what a rank was once told stays true for its gate.
  const Extent& stable(Rank rank) const { return ranks_.at(rank).told; }
  // True once for each connection: its holder has all that was ever told to be stable, or was carried to an earlier one.
  bool poll_held(Generation& generation);

 private:
  struct PerRank {
    Term term{};
    std::uint64_t found = 0;             // by this hosting, when it began
    Extent published, promised;
    Extent told;                         // at most what is promised
    Extent carried;
    Extent sent, stable;                 // at the present holder
    bool asked = false, known = false;   // what it has
    bool is_held() const { return known && stable.covers(promised) && stable.covers(carried); }
    TestClock last_failed(std::uint64_t to) const;
  };
  bool is_held() const;
  static void tell(PerRank& rank, const Extent& extent);

  bool promises_;
  std::uint64_t in_flight_max_, append_max_, in_flight_ = 0;
  std::map<Rank, PerRank> ranks_;
  bool connected_ = false, alone_ = false;
  bool told_held_ = true;
  Generation generation_{};
};

// What is in two places.
Extent in_both(const Extent& one, const Extent& other);

}  // namespace hf::core::event_logger
