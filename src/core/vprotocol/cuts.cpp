#include "core/vprotocol/cuts.hpp"

#include <algorithm>
#include <cstring>

#include "core/vprotocol/stable_vector.hpp"

namespace hf::core::vprotocol {

Cuts::Added Cuts::add(Term term, std::uint64_t position) {
  if (term <= newest()) return Added::old;
  std::size_t count = cuts_.size();
  while (count > 0 && cuts_[count - 1].position >= position) --count;
  if (count == kept_max) return Added::full;
  cuts_.resize(count);
  cuts_.push_back({term, position});
  return Added::yes;
}

std::uint64_t Cuts::kept(Term term) const {
  for (const Cut& cut : cuts_) {
    if (cut.term > term) return cut.position;  // the lowest of these, since positions rise
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
  for (const Cut& cut : cuts_) {
    writer.put(cut.term.value);
    writer.put(cut.position);
  }
}

std::optional<Cuts> Cuts::decode(Bytes bytes) {
  Cuts out;
  for (ByteReader in(bytes); in.left() > 0;) {
    const Term term(in.get<std::uint32_t>());
    const auto position = in.get<std::uint64_t>();
    const bool rises = out.cuts_.empty() || position > out.cuts_.back().position;
    if (!in.ok() || !rises || term.value > term_max || out.add(term, position) != Added::yes) return std::nullopt;
  }
  return out;
}

Cuts::Added CutTable::add(Rank rank, Term term, std::uint64_t position) {
  const Cuts::Added added = cuts_[rank].add(term, position);
  if (added == Cuts::Added::yes) ranks_.push_back(rank);
  return added;
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

void RecordedDependencies::take(Bytes events, const CutTable& cuts) {
  if (size_ == 0) cuts_seen_ = cuts.ranks().size();
  EventHead head;
  const std::size_t whole = whole_events(events);
  for (std::size_t at = 0; at < whole; at += encoded_bytes(head)) {
    std::memcpy(&head, events.data() + at, sizeof(head));
    const std::uint64_t end = taken_ + at + encoded_bytes(head);
    if (head.kind != EventKind::dependency) {
      last_event_end_ = end;
      continue;
    }
    const Dependency on = dependency_of(head);
#ifdef HOLDFAST_MUTATE_CUT_LATE
    const Record record{on.term, on.position, end};
#else
    const Record record{on.term, on.position, last_event_end_};
#endif
    look_at(on.rank, record, cuts);
    records_[on.rank].push_back(record);
    ++size_;
  }
  taken_ += whole;
}

void RecordedDependencies::look_at(Rank rank, const Record& record, const CutTable& cuts) {
  if (cuts.verdict({rank, record.term, record.position}) != Cuts::Verdict::lost) return;
  if (!lost_ || record.cut < *lost_) lost_ = record.cut;
}

std::optional<std::uint64_t> RecordedDependencies::first_lost(const CutTable& cuts) {
  for (const auto cut = cuts.ranks(); cuts_seen_ < cut.size(); ++cuts_seen_) {
    const auto at = records_.find(cut[cuts_seen_]);
    if (at == records_.end()) continue;
    for (const Record& record : at->second) look_at(at->first, record, cuts);
  }
  return lost_;
}

void RecordedDependencies::forget_stable(const CutTable& cuts, const Stable& stable) {
  if (size_ < look_at_size_) return;
#ifdef HOLDFAST_MUTATE_FORGET_RECORDS
  records_.clear();
  size_ = 0;
#endif
  for (auto of = records_.begin(); of != records_.end();) {
    const auto is_stable = [&, rank = of->first](const Record& r) { return stable.covers(cuts.renewed({rank, r.term, r.position})); };
    size_ -= std::erase_if(of->second, is_stable);
    of = of->second.empty() ? records_.erase(of) : std::next(of);
  }
  look_at_size_ = std::max<std::size_t>(64, 2 * size_);
}

std::optional<std::uint64_t> first_lost(Bytes stream, const CutTable& cuts) {
  RecordedDependencies recorded;
  recorded.take(stream, cuts);
  return recorded.first_lost(cuts);
}

}  // namespace hf::core::vprotocol
