// The events of an agent's ranks at several holders at once (docs/event-loggers.md): what all of them have acknowledged is stable. Pure.
//
// Driven as Sender, of which it has one for each copy.
#pragma once
#include <set>
#include <vector>

#include "core/event_logger/sender.hpp"

namespace hf::core::event_logger {

class Copies {
 public:
  using Extent = Sender::Extent;
  Copies(int count, std::uint64_t in_flight_max, std::uint64_t append_max = Sender::append_bytes_max);
  int count() const { return static_cast<int>(senders_.size()); }

  void add(Rank rank, Term term, const Extent& promised, const Extent& told);
  void add(Rank rank, Term term, const Extent& promised) { add(rank, term, promised, promised); }
  // Nothing but what was told is stable before that (places.hpp).
  void on_settled(Rank rank);
  bool all_settled() const { return unsettled_.empty(); }
  void on_published(Rank rank, const Extent& extent);
  void on_carried(Rank rank, const Extent& extent);
  void roll_back(Rank rank, Term term, std::uint64_t cut);

  void on_connected(int copy, Generation generation) { sender(copy).on_connected(generation); }
  void on_disconnected(int copy) { sender(copy).on_disconnected(); }
  // No other node is left for this one: what the others have is stable; without others, what is stored here.
  void on_no_holder(int copy);
  bool poll_append(int copy, Sender::Append& append) { return sender(copy).poll_append(append); }
  bool on_stable(int copy, Rank rank, Term term, const Extent& extent);
  bool poll_held(int copy, Generation& generation) { return sender(copy).poll_held(generation); }
  const Extent& stable(Rank rank) const { return senders_.front().stable(rank); }

 private:
  Sender& sender(int copy) { return senders_[static_cast<std::size_t>(copy)]; }
  void settle(Rank rank);
  std::vector<Sender> senders_;
  std::set<Rank> ranks_, unsettled_;
};

}  // namespace hf::core::event_logger
