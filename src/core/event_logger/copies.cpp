#include "core/event_logger/copies.hpp"

#include <optional>

namespace hf::core::event_logger {

Copies::Copies(int count, std::uint64_t in_flight_max, std::uint64_t append_max) {
  for (int i = 0; i < count; ++i) senders_.emplace_back(in_flight_max, false, append_max);
}

void Copies::add(Rank rank, Term term, const Extent& promised, const Extent& told) {
  ranks_.insert(rank);
#ifndef HOLDFAST_MUTATE_SETTLED_AT_ONCE
  unsettled_.insert(rank);
#endif
  for (Sender& sender : senders_) sender.add(rank, term, promised, told);
  settle(rank);
}

void Copies::on_settled(Rank rank) {
  if (unsettled_.erase(rank) != 0) settle(rank);
}

void Copies::on_published(Rank rank, const Extent& extent) {
  for (Sender& sender : senders_) sender.on_published(rank, extent);
  settle(rank);
}

void Copies::on_carried(Rank rank, const Extent& extent) {
  for (Sender& sender : senders_) sender.on_carried(rank, extent);
}

void Copies::roll_back(Rank rank, Term term, std::uint64_t cut) {
  for (Sender& sender : senders_) sender.roll_back(rank, term, cut);
  settle(rank);
}

void Copies::on_no_holder(int copy) {
  sender(copy).on_no_holder();
  for (Rank rank : ranks_) settle(rank);
}

bool Copies::on_stable(int copy, Rank rank, Term term, const Extent& extent) {
  if (!sender(copy).on_stable(rank, term, extent)) return false;
  settle(rank);
  return true;
}

// What every holder has, of those that there are.
void Copies::settle(Rank rank) {
  if (unsettled_.contains(rank)) return;
  std::optional<Extent> least;
  for (const Sender& sender : senders_) {
    if (sender.alone()) continue;
#ifdef HOLDFAST_MUTATE_ONE_COPY_SUFFICES
    if (least) continue;
#endif
    least = least ? in_both(*least, sender.at_holder(rank)) : sender.at_holder(rank);
  }
  for (Sender& sender : senders_) sender.promise(rank, least.value_or(senders_.front().published(rank)));
}

}  // namespace hf::core::event_logger
