// What one source has sent in one context, kept as sums, so that what comes again after the loss of its node can be compared with it
// (docs/divergence.md). Pure.
//
// Messages are counted in blocks of consecutive numbers; the sum of a block does not depend on the order in which they came. A block is
// one message until there are more than `blocks_max`; then two neighbours become one, as often as that is needed.
//
// Driving it: on_taken() for each message that is taken; expect_again() when the source's node is lost; on_again() for each message
// that is dropped because it is here already.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "core/match/numbers.hpp"
#include "wire/message_sum.hpp"

namespace hf::core::vprotocol {

class TakenSums {
 public:
  static constexpr std::uint64_t blocks_max = 64;

  // False: it was taken before.
  bool on_taken(Sequence number, const wire::MessageSum& sum);
  // The payload of one that was taken without.
  void on_payload(Sequence number, std::uint64_t payload);
  // Protocol optimist: as if it had never come, also where it is expected again: another may come with its number. `sum`: all that was
  // said of it.
  void on_taken_back(Sequence number, const wire::MessageSum& sum);

  // All that was taken comes again.
  void expect_again();
  bool expects() const { return missing_ > 0; }
  // One of these messages is not what it was: from `first` to `last`.
  struct Difference {
    Sequence first, last;
    bool envelope = false;  // tag or length; else the payload
  };
  // When a block has come again whole. A message counts once.
  std::optional<Difference> on_again(Sequence number, const wire::MessageSum& sum);

 private:
  struct Block {
    std::uint64_t envelopes = 0, payloads = 0;    // sums
    std::uint64_t messages = 0, with_payload = 0;
    void add(const wire::MessageSum& sum);
    void add(const Block& other);
    void remove(const wire::MessageSum& sum);
    bool has_payloads() const { return with_payload == messages; }
  };
  Block& block_of(Sequence number);

  std::vector<Block> taken_;
  unsigned shift_ = 0;  // a block is 1 << shift_ numbers
  match::Arrivals numbers_;
  // What was taken when the node was lost, and what of it has come again.
  std::vector<Block> before_, again_;
  unsigned before_shift_ = 0;
  match::Arrivals numbers_before_, numbers_again_;
  std::uint64_t missing_ = 0;  // messages of before_ that have not come again
};

}  // namespace hf::core::vprotocol
