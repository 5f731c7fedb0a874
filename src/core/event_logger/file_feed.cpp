#include "core/event_logger/file_feed.hpp"

#include <utility>

namespace hf::core::event_logger {

FileFeed::FileFeed(Writer& writer, std::uint64_t in_flight_max) : writer_(writer), sender_(in_flight_max) {
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
  return sender_.on_stable(stable.hosting.rank, stable.hosting.term, stable.extent);
}

}  // namespace hf::core::event_logger
