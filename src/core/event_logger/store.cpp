#include "core/event_logger/store.hpp"

#include <algorithm>
#include <utility>

namespace hf::core::event_logger {

void Store::Stream::begin(Term term) {
  if (term == label.term) return;
#ifndef HOLDFAST_MUTATE_BEGUN_HIDES_WHOLE
  if (is_whole() && known) older = label;
#endif
  label = {.term = term, .promised = label.promised};
}

void Store::shorten(Stream& stream, std::uint64_t end) {
  if (end >= stream.bytes.size()) return;
  bytes_ -= stream.bytes.size() - end;
  stream.bytes.shorten(end);
}

// What stands behind is part of an event that the hosting before could not send whole, or was cut off (vprotocol::Cuts). What was promised
// of that is lost, and the failed tests behind what is promised now are those of another execution.
void Store::keep_found(Stream& stream, std::uint64_t position, const Extent& promised) {
  shorten(stream, position);
#ifndef HOLDFAST_MUTATE_STALE_PROMISE
  stream.label.promised = both(stream.label.promised, promised);
  if (stream.older) stream.older->promised = both(stream.older->promised, promised);
  stream.last_failed = std::min(stream.last_failed, promised.last_failed);
#endif
}

Store::Verdict Store::on_append(Rank rank, Term term, Generation generation, std::uint64_t position, const Extent& promised,
                                TestClock last_failed, Bytes bytes) {
  auto [at, is_new] = streams_.try_emplace(rank);
  Stream& stream = at->second;
#ifndef HOLDFAST_MUTATE_ACCEPT_FENCED
  if (term < stream.fence) return Verdict::refused;
#endif
  if (term > stream.fence) {
    // The hosting before may have appended here what nobody was told was stable: not a beginning of this stream.
    bytes_ -= stream.bytes.size();
    stream = Stream{.fence = term};
  }
#ifndef HOLDFAST_MUTATE_ACCEPT_OUTDATED
  // It would cut off what came by the newer connection.
  if (term == stream.label.term && generation < stream.label.generation) return Verdict::outdated;
#endif
  const bool asks = is_question(last_failed, bytes);
  if (asks && term > stream.label.term) keep_found(stream, position, promised);
  const bool continues = term == stream.label.term && stream.known;
  stream.begin(term);
  stream.label.generation = generation;
  stream.known = true;
  if (asks) position = std::min<std::uint64_t>(position, stream.bytes.size());
  if (position > stream.bytes.size()) return Verdict::gap;
  // What is here of this hosting already comes again by a connection that was made anew: perhaps behind what came by that.
  const std::uint64_t again = continues && !asks ? std::min<std::uint64_t>(bytes.size(), stream.bytes.size() - position) : 0;
  bytes = bytes.subspan(again);
  position += again;
  if (!bytes.empty()) {
    const std::uint64_t behind = stream.bytes.size() - position;
    if (bytes.size() > bytes_max_ - bytes_ + behind) return Verdict::full;
    shorten(stream, position);
    stream.bytes.append(bytes);
    bytes_ += bytes.size();
  }
  stream.last_failed = std::max(stream.last_failed, last_failed);
#ifndef HOLDFAST_MUTATE_FORGET_PROMISED
  stream.label.promised = either(stream.label.promised, promised);
#endif
  if (stream.is_whole()) stream.older.reset();
  return Verdict::taken;
}

void Store::on_cut(Rank rank, Term term, std::uint64_t kept) {
  auto at = streams_.find(rank);
  if (at == streams_.end() || term < at->second.fence || term <= at->second.label.term) return;
  Stream& stream = at->second;
  stream.fence = term;
  stream.begin(term);
#ifndef HOLDFAST_MUTATE_HOLDER_NOT_CUT
  shorten(stream, kept);
#endif
  // The failed tests before the cut are events.
  const Extent extent{kept, {}};
  stream.label.promised = both(stream.label.promised, extent);
  if (stream.older) stream.older->promised = both(stream.older->promised, extent);
  stream.last_failed = {};
}

void Store::on_carried(Rank rank, Term term, std::uint64_t position, TestClock last_failed, Bytes bytes) {
  auto at = streams_.find(rank);
  if (at == streams_.end() || at->second.label.term != term || term < at->second.fence) return;
  Stream& stream = at->second;
  const std::uint64_t end = stream.bytes.size();
  if (position > end) return;
  stream.last_failed = std::max(stream.last_failed, last_failed);
  if (position + bytes.size() <= end) return;
#ifndef HOLDFAST_MUTATE_FORGET_CARRIED
  const Bytes behind = bytes.subspan(end - position);
  if (behind.size() > bytes_max_ - bytes_) {  // then they are missing, and whoever takes the rank over must know
    stream.label.promised.end = std::max(stream.label.promised.end, position + bytes.size());
    return;
  }
  stream.bytes.append(behind);
  bytes_ += behind.size();
#endif
}

Term Store::term(Rank rank) const {
  auto at = streams_.find(rank);
  return at == streams_.end() ? Term{} : at->second.label.term;
}

Store::Content Store::on_open(Rank rank, Term term) {
  auto [at, is_new] = streams_.try_emplace(rank);
  Stream& stream = at->second;
  if (term < stream.fence) return {.refused = true};
  stream.fence = term;
  const bool known = std::exchange(stream.known, true);
  const Label label = stream.older.value_or(stream.label);
  return {.term = label.term,
          .generation = label.generation,
          .known = known,
          .promised = label.promised,
          .last_failed = stream.last_failed,
          .bytes = stream.bytes.view()};
}

std::uint64_t Store::end(Rank rank) const {
  auto at = streams_.find(rank);
  return at == streams_.end() ? 0 : at->second.bytes.size();
}

TestClock Store::last_failed(Rank rank) const {
  auto at = streams_.find(rank);
  return at == streams_.end() ? TestClock{} : at->second.last_failed;
}

void Store::forget(Rank rank, Term below, Generation generation) {
  auto at = streams_.find(rank);
  if (at == streams_.end()) return;
  const Label& label = at->second.label;
#ifdef HOLDFAST_MUTATE_FORGET_CHOSEN_AGAIN
  const bool replaced = true;
#elif defined(HOLDFAST_MUTATE_KEEP_REPLACED)
  const bool replaced = false;
#else
  const bool replaced = label.generation < generation;  // else it was named again before it heard of this
#endif
  if (label.term > below || (label.term == below && !replaced)) return;
  bytes_ -= at->second.bytes.size();
#ifdef HOLDFAST_MUTATE_FORGET_FENCE
  streams_.erase(at);
#else
  // Who hosted it before may not have heard of that, and goes on appending.
  at->second = Stream{.fence = std::max(at->second.fence, below)};
#endif
}

}  // namespace hf::core::event_logger
