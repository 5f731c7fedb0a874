#include "core/event_logger/file_feed.hpp"

#include <utility>

namespace hf::core::event_logger {

FileFeed::FileFeed(Writer& writer, std::uint64_t in_flight_max, std::uint64_t append_max)
    : writer_(writer), sender_(in_flight_max, false, append_max) {
  sender_.on_connected(Generation{1});
}

void FileFeed::add_rank(Rank rank, Term term, const Extent& promised, const Extent& told) {
  sender_.add(rank, term, promised, told);
  look(rank);
}

void FileFeed::roll_back(Rank rank, Term term, std::uint64_t position) {
  sender_.roll_back(rank, term, position);
#ifdef HOLDFAST_MUTATE_APPEND_BEFORE_CUT
  look(rank);
#endif
  if (!stopped_) writer_.put({.kind = FileRecord::Kind::cut, .rank = rank, .term = term, .position = position}, {});
  look(rank);
}

void FileFeed::look(Rank rank) {
  sender_.on_published(rank, writer_.written(rank));
  pump();
}

void FileFeed::pump() {
#ifdef HOLDFAST_MUTATE_PUT_AFTER_FAILURE
  if (held_back_) return;
#else
  if (held_back_ || stopped_) return;
#endif
  for (Sender::Append append; sender_.poll_append(append);) {
    std::vector<std::byte> bytes(append.end - append.position);
    if (!writer_.read_events(append.rank, append.position, bytes)) return writer_.on_damaged(append.rank);
    writer_.put({FileRecord::Kind::append, append.rank, append.term, append.position, append.promised, append.last_failed, {}},
                std::move(bytes));
  }
}

void FileFeed::hold_back(bool on) {
  held_back_ = on;
  pump();
}

bool FileFeed::on_stable(const FileWriter::Stable& stable) {
  const Rank rank = stable.hosting.rank;
  if (!sender_.on_stable(rank, stable.hosting.term, stable.extent)) return false;
  // Until what was found is here whole, an earlier hosting's file is what counts (found.hpp).
#ifndef HOLDFAST_MUTATE_PART_OF_A_COPY_IS_STABLE
  if (!sender_.is_held(rank)) return true;
#endif
  sender_.promise(rank, sender_.at_holder(rank));
  return true;
}

}  // namespace hf::core::event_logger
