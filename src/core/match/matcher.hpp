// Tag matching of one context (MPI 5.0, 3.5): the posted and the unexpected queue. Pure: no clock, no I/O, no allocation;
// entries are the caller's, linked in place, and must stay in place while queued. One thread.
//
// While a rank replays, an any-source receive may be `forced` to the source of its matching determinant, `held` because
// it has none (it matches nothing, and what it could match waits behind it; so does every receive that could take such a
// message: a later message must not overtake it there), or `inert` because its recorded Cancel
// succeeded (it never matches, nothing waits for it). Design section 6.4.
#pragma once
#include <cstdint>

#include "base/ids.hpp"
#include "core/match/list.hpp"

namespace hf::core::match {

enum class Mode : std::uint8_t { free, held, inert };

struct Posted : Link {
  Rank source = any_rank;  // wanted; any_rank: any member. A forced receive has the determinant's source here
  MessageTag tag = any_tag;
  Mode mode = Mode::free;
  bool any_source = false;  // as the program posted it
};

struct Arrived : Link {
  Rank source{};
  MessageTag tag{};
};

class Matcher {
 public:
  // A receive is posted: returns the earliest unexpected message it takes (unlinked), or null: it is queued.
  Arrived* post(Posted& receive);
  // A message has arrived: returns the earliest posted receive that takes it (unlinked), or null: it is queued.
  Posted* arrive(Arrived& message) {
    Posted* receive = take_posted(message.source, message.tag);
    if (!receive) queue(message);
    return receive;
  }
  // The two halves of it: null from the first, and the second must follow.
  Posted* take_posted(Rank source, MessageTag tag);
  void queue(Arrived& message) { unexpected_.push_back(message); }
  // The posted receive that arrive() would give for such a message; it stays posted.
  Posted* taker(Rank source, MessageTag tag);
  // The earliest unexpected message that a receive of this source and tag would take now; it stays queued.
  Arrived* peek(Rank source, MessageTag tag);
  // Takes a message found by peek out of the queue.
  void take(Arrived& message) { unexpected_.remove(message); }
  // Withdraws a queued receive.
  void withdraw(Posted& receive) { remove_posted(receive); }

  // After the last determinant: held receives become free. Then poll_match() gives the matches that follow from it, in
  // posted order, until it gives none.
  void release_held();
  struct Match {
    Posted* receive = nullptr;
    Arrived* message = nullptr;
    explicit operator bool() const { return receive != nullptr; }
  };
  Match poll_match();

  bool idle() const { return posted_.empty() && unexpected_.empty(); }
  bool has_held() const { return held_ > 0; }
  List<Arrived>& unexpected() { return unexpected_; }
  List<Posted>& posted() { return posted_; }

 private:
  static bool accepts(const Posted& receive, Rank source, MessageTag tag) {
    return (receive.source == any_rank || receive.source == source) && (receive.tag == any_tag || receive.tag == tag);
  }
  static bool accepts(const Posted& receive, const Arrived& message) {
    return accepts(receive, message.source, message.tag);
  }
  bool blocked(const Arrived& message) const;
  Arrived* earliest(const Posted& receive);
  Posted* first_for(Rank source, MessageTag tag);  // the receive that takes such a message, or holds it up
  void hold_after(Posted& first, Rank source, MessageTag tag);
  void remove_posted(Posted& receive);

  List<Posted> posted_;
  List<Arrived> unexpected_;
  std::uint64_t held_ = 0;
};

}  // namespace hf::core::match
