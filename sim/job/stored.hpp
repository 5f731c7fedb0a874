// For the checker: which events of a rank are where they survive what the level promises, from what was stored where.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace hf::sim::job {

// An agent's number, or one of these. Found: whoever takes the rank over has it, and some agent.
inline constexpr int stored_on_disk = -1, stored_here = -2, stored_and_found = -3;

class StoredEvents {
 public:
  // What suffices for the hosting under that term from now on: so many agents, and the disk. Neither: wherever it is. One that the head
  // holds for lost goes on for a time beside the next: what is stable for one of them is.
  struct Wanted {
    int agents = 0;
    bool disk = false;
  };
  void want(Term term, const Wanted& wanted);
  void on_hosting_over(Term term);

  // `position`: of the first of these bytes in the rank's stream. They may end within an event.
  void on_stored(int place, std::uint64_t position, Bytes added, TestClock last_failed);
  // Under optimist: the rank goes on under this term with what stands before `position`.
  void on_cut(Term term, std::uint64_t position);
  // The stream as it is under that term, up to there. Returns how far it is stable, as it is under term().
  std::uint64_t on_extent(int place, Term term, std::uint64_t end);
  std::uint64_t stable_end() const { return stable_end(ends_); }
  Term term() const { return term_; }

  enum class Kind : std::uint8_t { match, delivery, time, cancel };
  bool has(Kind kind, std::uint64_t key) const { return stable_.contains({kind, key}); }
  bool has_failed(std::uint64_t test) const { return test <= last_test_; }

 private:
  using Key = std::pair<Kind, std::uint64_t>;
  bool suffices(const std::vector<int>& places) const;
  void forget_old_hostings();
  void store(int place, Kind kind, std::uint64_t key);
  void settle_tests();
  Bytes with_begun(int place, std::uint64_t position, Bytes events);
  std::uint64_t stable_end(const std::map<int, std::uint64_t>& by_place) const;

  struct Hosting {
    Wanted wanted;
    bool over = false;
  };
  std::map<Term, Hosting> hostings_;  // the newest, and those before it that are not over
  std::set<Key> stable_;
  std::map<Key, std::vector<int>> partly_;  // not stable yet
  std::map<int, std::uint64_t> last_tests_;
  struct Begun {  // an event, and not whole
    std::uint64_t position = 0;
    std::vector<std::byte> bytes;
  };
  std::map<int, Begun> begun_;  // by place
  std::uint64_t last_test_ = 0;
  Term term_{};
  std::vector<std::pair<Term, std::uint64_t>> cuts_;
  std::map<int, std::uint64_t> ends_;  // under that term
};

}  // namespace hf::sim::job
