// For the checker: what one life of a receiver has taken of a sender, and whether that was the same when it came again from a later
// hosting of the sender (docs/divergence.md). Knows nothing of blocks and sums.
#pragma once
#include <map>
#include <set>

#include "sim/job/frame.hpp"

namespace hf::sim::job {

class Differences {
 public:
  // A message of the sender as hosted under `term`, before anything is done with it. Of a large one the envelope alone.
  void on_arrived(const Frame& message, Term term);
  // The payload of a large one, which was taken without.
  void on_payload(Sequence number, std::uint64_t value);
  // A large one that has come again; its payload was asked for, if `has_payload`.
  void on_large_again(const Frame& message, Term term, bool has_payload);
  // Under optimist: it is as if it had never come.
  void on_taken_back(Sequence number) { taken_.erase(number); }
  bool has(Sequence first, Sequence last, bool envelope) const;
  // All that was taken before the sender's loss has come again, one of it was another one, and it could be seen.
  bool is_due() const { return due_; }

 private:
  struct Taken {
    Term term{};
    MessageTag tag{};
    bool large = false, synchronous = false, has_value = false;
    std::uint64_t value = 0;
  };
  void on_again(const Frame& message, Term term, bool has_payload);
  void settle();
  std::map<Sequence, Taken> taken_;
  Term again_under_{};
  std::set<Sequence> again_;                 // since then
  std::map<Sequence, bool> other_;           // of them: the envelope; else the payload
  bool due_ = false, has_large_ = false;
};

}  // namespace hf::sim::job
