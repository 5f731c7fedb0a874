#include "core/vprotocol/dependencies.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"
#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"

namespace hf::core::vprotocol {
namespace {

constexpr int position_bits = 48;

}  // namespace

void encode_dependencies(std::vector<std::byte>& out, std::span<const Dependency> list) {
  ByteWriter writer(out);
  for (const Dependency& d : list) {
    writer.put(d.rank.value);
    writer.put(d.term.value);
    writer.put(d.position);
  }
}

bool decode_dependencies(Bytes bytes, int rank_count, std::vector<Dependency>& out) {
  out.clear();
  std::int32_t last = -1;
  ByteReader in(bytes);
  while (in.left() >= dependency_bytes) {
    Dependency d;
    d.rank = Rank(in.get<std::int32_t>());
    d.term = Term(in.get<std::uint32_t>());
    d.position = in.get<std::uint64_t>();
    if (d.rank.value <= last || d.rank.value >= rank_count || d.position > position_max || d.term.value > term_max) break;
    last = d.rank.value;
    out.push_back(d);
  }
  const bool whole = out.size() * dependency_bytes == bytes.size();
  if (!whole) out.clear();
  return whole;
}

EventHead record_of(const Dependency& d) {
  HF_CHECK(d.term.value <= term_max && d.position <= position_max);
  return {EventKind::dependency, static_cast<std::uint32_t>(d.rank.value), std::uint64_t{d.term.value} << position_bits | d.position};
}

Dependency dependency_of(const EventHead& record) {
  return {Rank(static_cast<std::int32_t>(record.count)), Term(static_cast<std::uint32_t>(record.key >> position_bits)),
          record.key & position_max};
}

DependencyVector::Entries::iterator DependencyVector::find(Entries::iterator from, Rank rank) {
  return std::lower_bound(from, entries_.end(), rank, [](const Entry& entry, Rank of) { return entry.dependency.rank < of; });
}

bool DependencyVector::raise(Entry& entry, const Dependency& now) {
  if (std::tuple(now.term, now.position) <= std::tuple(entry.dependency.term, entry.dependency.position)) return false;
#ifdef HOLDFAST_MUTATE_FORGET_CHANGE
  return entry.dependency = now, true;  // said once, said for good
#endif
  entry = {now, ++stamp_};
  newest_ = stamp_;
  return true;
}

void DependencyVector::on_event(Term term, std::uint64_t position) {
  const auto at = find(entries_.begin(), self_);
  if (at != entries_.end() && at->dependency.rank == self_) return void(raise(*at, {self_, term, position}));
  entries_.insert(at, {{self_, term, position}, newest_ = ++stamp_});
}

std::span<const Dependency> DependencyVector::merge(std::span<const Dependency> list, const CutTable& cuts) {
  larger_.clear();
  if (entries_.empty()) cuts_seen_ = cuts.ranks().size();
  while (!list.empty()) list = merge_rising(list, cuts);
  return larger_;
}

// Returns what is left of the list: behind the ranks that rise.
std::span<const Dependency> DependencyVector::merge_rising(std::span<const Dependency> list, const CutTable& cuts) {
  auto at = entries_.begin();
  std::size_t n = 0;
  for (; n < list.size() && (n == 0 || list[n - 1].rank < list[n].rank); ++n) {
    if (list[n].rank == self_) continue;
    is_lost_ |= cuts.verdict(list[n]) == Cuts::Verdict::lost;
    const Dependency now = cuts.renewed(list[n]);
    at = find(at, now.rank);
    if (at == entries_.end() || at->dependency.rank != now.rank) new_.push_back({now, newest_ = ++stamp_});
    else if (!raise(*at, now)) continue;
    larger_.push_back(now);
  }
  put_in_new();
  return list.subspan(n);
}

// From the end on, so that each is moved once.
void DependencyVector::put_in_new() {
  std::size_t old = entries_.size(), out = old + new_.size();
  entries_.resize(out);
  for (; !new_.empty(); new_.pop_back()) {
    while (old > 0 && entries_[old - 1].dependency.rank > new_.back().dependency.rank) entries_[--out] = entries_[--old];
    entries_[--out] = new_.back();
  }
}

// Those of ranks that were cut since they were put in.
void DependencyVector::look_at(const CutTable& cuts) {
  const auto cut = cuts.ranks();
  for (; cuts_seen_ < cut.size(); ++cuts_seen_) {
    const auto at = find(entries_.begin(), cut[cuts_seen_]);
    if (at == entries_.end() || at->dependency.rank != cut[cuts_seen_]) continue;
    const Cuts::Verdict verdict = cuts.verdict(at->dependency);
    is_lost_ |= verdict == Cuts::Verdict::lost;
    at->dependency = cuts.renewed(at->dependency);
#ifdef HOLDFAST_MUTATE_KEPT_IS_STABLE
    if (verdict == Cuts::Verdict::kept) entries_.erase(at);
#endif
  }
}

bool DependencyVector::look(const CutTable& cuts, const Stable& stable) {
  look_at(cuts);
  std::erase_if(entries_, [&](const Entry& entry) { return stable.covers(entry.dependency); });
  newest_ = 0;
  for (const Entry& entry : entries_) newest_ = std::max(newest_, entry.stamp);
  return !is_lost_;
}

void DependencyVector::take_changes(std::uint64_t& said, std::vector<Dependency>& out) const {
  out.clear();
  for (const Entry& entry : entries_) {
    if (entry.stamp > said) out.push_back(entry.dependency);
  }
  said = newest_;
}

std::vector<Dependency> DependencyVector::entries() const {
  std::vector<Dependency> out;
  for (const Entry& entry : entries_) out.push_back(entry.dependency);
  return out;
}

}  // namespace hf::core::vprotocol
