#include "core/vprotocol/cuts.hpp"

#include <algorithm>
#include <cstring>

#include "core/vprotocol/stable_vector.hpp"

namespace hf::core::vprotocol {

Cuts::Added Cuts::add(Term term, std::uint64_t position) {
  if (term <= newest()) return Added::old;
  std::size_t count = count_;
  while (count > 0 && cuts_[count - 1].position >= position) --count;
  if (count == kept_max) return Added::full;
  cuts_[count] = {term, position};
  count_ = count + 1;
  return Added::yes;
}

std::uint64_t Cuts::kept(Term term) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (cuts_[i].term > term) return cuts_[i].position;  // the lowest of these, since positions rise
  }
  return UINT64_MAX;
}

Cuts::Verdict Cuts::verdict(Term term, std::uint64_t position) const {
  if (term > newest()) return Verdict::unknown;
  if (term == newest()) return Verdict::current;
  return position > kept(term) ? Verdict::lost : Verdict::kept;
}

void Cuts::encode(std::vector<std::byte>& out) const {
  ByteWriter writer(out);
  for (std::size_t i = 0; i < count_; ++i) {
    writer.put(cuts_[i].term.value);
    writer.put(cuts_[i].position);
  }
}

std::optional<Cuts> Cuts::decode(Bytes bytes) {
  Cuts out;
  for (ByteReader in(bytes); in.left() > 0;) {
    const Term term(in.get<std::uint32_t>());
    const auto position = in.get<std::uint64_t>();
    const bool rises = out.count_ == 0 || position > out.cuts_[out.count_ - 1].position;
    if (!in.ok() || !rises || term.value > term_max || out.add(term, position) != Added::yes) return std::nullopt;
  }
  return out;
}

bool Cuts::operator==(const Cuts& other) const {
  return count_ == other.count_ && std::equal(cuts_.begin(), cuts_.begin() + static_cast<std::ptrdiff_t>(count_), other.cuts_.begin());
}

const Cuts& CutTable::of(Rank rank) const {
  static const Cuts none;
  auto at = cuts_.find(rank);
  return at == cuts_.end() ? none : at->second;
}

Dependency CutTable::renewed(const Dependency& d) const {
  const Cuts& cuts = of(d.rank);
  if (cuts.verdict(d.term, d.position) != Cuts::Verdict::kept) return d;
  return {d.rank, cuts.newest(), d.position};
}

void RecordedDependencies::take(Bytes events) {
  EventHead head;
  const std::size_t whole = whole_events(events);
  for (std::size_t at = 0; at < whole; at += encoded_bytes(head)) {
    std::memcpy(&head, events.data() + at, sizeof(head));
    const std::uint64_t end = taken_ + at + encoded_bytes(head);
    if (head.kind != EventKind::dependency) last_event_end_ = end;
#ifdef HOLDFAST_MUTATE_CUT_LATE
    else records_.push_back({dependency_of(head), end});
#else
    else records_.push_back({dependency_of(head), last_event_end_});
#endif
  }
  taken_ += whole;
}

std::optional<std::uint64_t> RecordedDependencies::first_lost(const CutTable& cuts) const {
  for (const Record& record : records_) {
    if (cuts.verdict(record.on) == Cuts::Verdict::lost) return record.cut;
  }
  return std::nullopt;
}

void RecordedDependencies::forget_stable(const CutTable& cuts, const StableVector& stable) {
  if (records_.size() < look_at_size_) return;
#ifdef HOLDFAST_MUTATE_FORGET_RECORDS
  records_.clear();
#endif
  std::erase_if(records_, [&](const Record& record) { return stable.covers(cuts.renewed(record.on)); });
  look_at_size_ = std::max<std::size_t>(64, 2 * records_.size());
}

std::optional<std::uint64_t> first_lost(Bytes stream, const CutTable& cuts) {
  RecordedDependencies recorded;
  recorded.take(stream);
  return recorded.first_lost(cuts);
}

}  // namespace hf::core::vprotocol
