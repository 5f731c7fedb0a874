// Where event streams were cut when their ranks began a new hosting: what stood behind is lost (docs/optimist.md, Cuts). Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "core/vprotocol/dependencies.hpp"

namespace hf::core::vprotocol {

// Of one rank. A cut that a later one before it makes superfluous is not kept.
class Cuts {
 public:
  static constexpr std::size_t kept_max = 16;
  struct Cut {
    Term term{};                 // of the hosting that begins with what stands before
    std::uint64_t position = 0;
    bool operator==(const Cut&) const = default;
  };
  enum class Added : std::uint8_t { yes, old, full };  // old: not above the newest term. full: nothing was added
  Added add(Term term, std::uint64_t position);

  enum class Verdict : std::uint8_t {
    lost,     // behind a cut of a later term
    kept,     // of an older term, before all cuts since: it is the same event of the newest
    current,  // of the newest term
    unknown,  // of a term that has not been heard of: nothing may be decided
  };
  Verdict verdict(Term term, std::uint64_t position) const;
  // How much of the stream as it was under `term` is still the beginning of the newest. All of it: the highest number.
  std::uint64_t kept(Term term) const;
  Term newest() const { return cuts_.empty() ? Term{} : cuts_.back().term; }

  // term:u32 position:u64 each, both rising.
  void encode(std::vector<std::byte>& out) const;
  static std::optional<Cuts> decode(Bytes bytes);
  bool operator==(const Cuts& other) const = default;

 private:
  std::vector<Cut> cuts_;  // terms and positions rise. Most ranks have one
};

// Of all ranks.
class CutTable {
 public:
  Cuts::Added add(Rank rank, Term term, std::uint64_t position);
  const Cuts& of(Rank rank) const;
  Cuts::Verdict verdict(const Dependency& d) const { return of(d.rank).verdict(d.term, d.position); }
  // The same event under the newest term.
  Dependency renewed(const Dependency& d) const;
  // Of all cuts, in the order in which they were added. Who has looked at the first n need not look at other ranks than those behind.
  std::span<const Rank> ranks() const { return ranks_; }

 private:
  std::unordered_map<Rank, Cuts> cuts_;
  std::vector<Rank> ranks_;
};

class Stable;

// The records of dependencies of one event stream that may still be lost. The stream is taken as it grows. The table of cuts is always the same.
class RecordedDependencies {
 public:
  void take(Bytes events, const CutTable& cuts);  // what follows in the stream. Bytes behind the last whole event are left: they come again
  std::uint64_t taken() const { return taken_; }
  // Where the stream is to be cut: as first_lost() says of what was taken.
  std::optional<std::uint64_t> first_lost(const CutTable& cuts);
  // What is stable is never lost. Looked for when there are twice as many as were left the last time.
  void forget_stable(const CutTable& cuts, const Stable& stable);
  std::size_t size() const { return size_; }

 private:
  struct Record {
    Term term{};
    std::uint64_t position = 0;
    std::uint64_t cut = 0;  // of the stream, if that is lost
  };
  void look_at(Rank rank, const Record& record, const CutTable& cuts);
  std::unordered_map<Rank, std::vector<Record>> records_;  // by the rank that they depend on
  std::size_t size_ = 0;
  std::size_t cuts_seen_ = 0;  // of the table
  std::optional<std::uint64_t> lost_;
  std::uint64_t taken_ = 0, last_event_end_ = 0;
  std::size_t look_at_size_ = 64;
};

// Where an event stream is to be cut: behind the last event before its first record of a dependency on something lost, so that no record
// is kept of a message that is not matched any more. Nothing: its rank is no orphan. Bytes behind the last whole event are not looked at.
std::optional<std::uint64_t> first_lost(Bytes stream, const CutTable& cuts);

}  // namespace hf::core::vprotocol
