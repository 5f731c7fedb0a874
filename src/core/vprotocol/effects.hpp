// What leaves the job, or says that something will not be taken back: output, the end of a rank, acknowledgements of synchronous
// messages. Under optimist each waits until all that the rank depended on when it was made is stable (docs/optimist.md; design rule 3).
// Pure. Named by tokens of the caller.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"

namespace hf::core::vprotocol {

class Effects {
 public:
  using Token = std::uint64_t;
  // True: it may be passed on now. False: it is kept. `needs`: the vector as it is.
  bool offer(Token token, const DependencyVector& needs);
  // In the order offered: what was made later depends on no less. Bound: the caller's, who offers.
  bool poll_released(Token& token, const CutTable& cuts, const Stable& stable);
  bool empty() const { return held_.empty(); }

 private:
  struct Held {
    Token token;
    std::vector<Dependency> needs;
  };
  std::deque<Held> held_;
};

}  // namespace hf::core::vprotocol
