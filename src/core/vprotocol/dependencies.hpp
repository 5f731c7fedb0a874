// What the state of a rank depends on and is not known to be stable (paper 000, III.B and IV.B; docs/optimist.md). Pure.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "core/vprotocol/events.hpp"

namespace hf::core::vprotocol {

class CutTable;
class Stable;

// An event of another rank: the one that ends at `position` of its event stream, as it was under `term`.
struct Dependency {
  Rank rank{};
  Term term{};
  std::uint64_t position = 0;
  bool operator==(const Dependency&) const = default;
};

// What a record has room for.
inline constexpr std::uint32_t term_max = (1u << 16) - 1;
inline constexpr std::uint64_t position_max = (std::uint64_t{1} << 48) - 1;

// As a frame carries them: rank:i32 term:u32 position:u64 each, ranks rising.
inline constexpr std::size_t dependency_bytes = 16;
void encode_dependencies(std::vector<std::byte>& out, std::span<const Dependency> list);
// False: not such a list; `out` is empty then.
bool decode_dependencies(Bytes bytes, int rank_count, std::vector<Dependency>& out);

// As an event stream records one. What does not fit ends the process: nothing that was decoded does.
EventHead record_of(const Dependency& dependency);
Dependency dependency_of(const EventHead& record);

// For each rank the last event that this one's state depends on. Whoever sends says what changed since the last message to the same
// receiver (Singhal and Kshemkalyani); an entry whose event is known to be stable is left out.
class DependencyVector {
 public:
  explicit DependencyVector(Rank self) : self_(self) {}

  // The own last event.
  void on_event(Term term, std::uint64_t position);
  // What became larger by it, in the order given: to be recorded before the program goes on. Valid until the next call. Entries of an older
  // term than `cuts` knows become those of the newest first. One pass for each part of the list in which ranks rise.
  std::span<const Dependency> merge(std::span<const Dependency> list, const CutTable& cuts);
  // After a change of either: what is stable is left out. False: something is lost, this rank is an orphan. It is always the same table.
  bool look(const CutTable& cuts, const Stable& stable);

  // Whether the next message to a receiver has something to say. `said` is the receiver's: 0 where what is sent to it is a new stream.
  bool changed_since(std::uint64_t said) const { return newest_ > said; }
  // What it has to say, ranks rising; said from now on.
  void take_changes(std::uint64_t& said, std::vector<Dependency>& out) const;

  bool empty() const { return entries_.empty(); }
  std::vector<Dependency> entries() const;  // ranks rising

 private:
  struct Entry {
    Dependency dependency;
    std::uint64_t stamp;  // when it changed last
  };
  using Entries = std::vector<Entry>;  // ranks rising
  Entries::iterator find(Entries::iterator from, Rank rank);
  bool raise(Entry& entry, const Dependency& now);
  std::span<const Dependency> merge_rising(std::span<const Dependency> list, const CutTable& cuts);
  void put_in_new();
  void look_at(const CutTable& cuts);

  Rank self_;
  Entries entries_;
  Entries new_;                      // not in entries_ yet
  std::size_t cuts_seen_ = 0;        // of the table
  bool is_lost_ = false;             // an entry is
  std::uint64_t stamp_ = 0;
  std::uint64_t newest_ = 0;         // of the stamps in entries_
  std::vector<Dependency> larger_;
};

}  // namespace hf::core::vprotocol
