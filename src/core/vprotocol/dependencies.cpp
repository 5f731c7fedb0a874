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

bool DependencyVector::raise(const Dependency& d) {
  auto at = std::ranges::lower_bound(entries_, d.rank, {}, [](const Entry& entry) { return entry.dependency.rank; });
  if (at == entries_.end() || at->dependency.rank != d.rank) {
    at = entries_.insert(at, {d, 0});
  } else if (std::tuple(d.term, d.position) <= std::tuple(at->dependency.term, at->dependency.position)) {
    return false;
  }
#ifdef HOLDFAST_MUTATE_FORGET_CHANGE
  if (at->stamp != 0) return at->dependency = d, true;  // said once, said for good
#endif
  *at = {d, ++stamp_};
  newest_ = stamp_;
  return true;
}

std::span<const Dependency> DependencyVector::merge(std::span<const Dependency> list, const CutTable& cuts) {
  larger_.clear();
  for (const Dependency& d : list) {
    if (d.rank == self_) continue;
    const Dependency now = cuts.renewed(d);
    if (raise(now)) larger_.push_back(now);
  }
  return larger_;
}

bool DependencyVector::look(const CutTable& cuts, const StableVector& stable) {
  bool is_lost = false;
  std::erase_if(entries_, [&](Entry& entry) {
    is_lost |= cuts.verdict(entry.dependency) == Cuts::Verdict::lost;
#ifdef HOLDFAST_MUTATE_KEPT_IS_STABLE
    if (cuts.verdict(entry.dependency) == Cuts::Verdict::kept) return true;
#endif
    entry.dependency = cuts.renewed(entry.dependency);
    return stable.covers(entry.dependency);
  });
  newest_ = 0;
  for (const Entry& entry : entries_) newest_ = std::max(newest_, entry.stamp);
  return !is_lost;
}

void DependencyVector::take_for(Rank to, std::vector<Dependency>& out) {
  out.clear();
  const auto at = static_cast<std::size_t>(to.value);
  if (at >= sent_.size()) sent_.resize(at + 1);
  for (const Entry& entry : entries_) {
    if (entry.stamp > sent_[at]) out.push_back(entry.dependency);
  }
  sent_[at] = newest_;
}

void DependencyVector::forget_sent(Rank to) {
  const auto at = static_cast<std::size_t>(to.value);
  if (at < sent_.size()) sent_[at] = 0;
}

std::vector<Dependency> DependencyVector::entries() const {
  std::vector<Dependency> out;
  for (const Entry& entry : entries_) out.push_back(entry.dependency);
  return out;
}

}  // namespace hf::core::vprotocol
