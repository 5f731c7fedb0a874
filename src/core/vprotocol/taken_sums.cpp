#include "core/vprotocol/taken_sums.hpp"

namespace hf::core::vprotocol {

void TakenSums::Block::add(const wire::MessageSum& sum) {
  envelopes += sum.envelope;
  ++messages;
  if (!sum.has_payload) return;
  payloads += sum.payload;
  ++with_payload;
}

void TakenSums::Block::remove(const wire::MessageSum& sum) {
  envelopes -= sum.envelope;
  --messages;
  if (!sum.has_payload) return;
  payloads -= sum.payload;
  --with_payload;
}

void TakenSums::Block::add(const Block& other) {
  envelopes += other.envelopes;
  payloads += other.payloads;
  messages += other.messages;
  with_payload += other.with_payload;
}

TakenSums::Block& TakenSums::block_of(Sequence number) {
  while (number.value >> shift_ >= blocks_max) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (i % 2 == 0) taken_[i / 2] = taken_[i];
      else taken_[i / 2].add(taken_[i]);
    }
    taken_.resize((taken_.size() + 1) / 2);
    ++shift_;
  }
  const std::uint64_t index = number.value >> shift_;
  if (index >= taken_.size()) taken_.resize(index + 1);
  return taken_[index];
}

bool TakenSums::on_taken(Sequence number, const wire::MessageSum& sum) {
  if (numbers_.by_number(number) == match::Arrivals::Verdict::duplicate) return false;
  block_of(number).add(sum);
  return true;
}

void TakenSums::on_payload(Sequence number, std::uint64_t payload) {
  Block& block = block_of(number);
  block.payloads += payload;
  ++block.with_payload;
}

void TakenSums::on_taken_back(Sequence number, const wire::MessageSum& sum) {
  block_of(number).remove(sum);
  numbers_.forget(number);
#ifndef HOLDFAST_MUTATE_TAKEN_BACK_IS_EXPECTED
  // What has come again already was the same message, and stays in both.
  if (missing_ == 0 || !numbers_before_.has(number) || numbers_again_.has(number)) return;
  before_[number.value >> before_shift_].remove(sum);
  numbers_before_.forget(number);
  --missing_;
#endif
}

void TakenSums::expect_again() {
  before_ = taken_;
  before_shift_ = shift_;
  numbers_before_ = numbers_;
  again_.assign(before_.size(), {});
  numbers_again_ = {};
  missing_ = 0;
  for (const Block& block : before_) missing_ += block.messages;
}

std::optional<TakenSums::Difference> TakenSums::on_again(Sequence number, const wire::MessageSum& sum) {
#ifdef HOLDFAST_MUTATE_NOT_COMPARED
  return {};
#endif
  if (missing_ == 0) return {};
#ifndef HOLDFAST_MUTATE_NEW_ONES_COUNT
  if (!numbers_before_.has(number)) return {};  // taken since then, and sent once more
#endif
#ifndef HOLDFAST_MUTATE_COUNTED_TWICE
  if (numbers_again_.by_number(number) == match::Arrivals::Verdict::duplicate) return {};
#endif
  const std::uint64_t index = number.value >> before_shift_;
  if (index >= before_.size()) return {};
  const Block& before = before_[index];
  Block& now = again_[index];
  now.add(sum);
  --missing_;
#ifdef HOLDFAST_MUTATE_OPEN_BLOCK_PASSES
  if (before.messages < std::uint64_t{1} << before_shift_) return {};
#endif
  if (now.messages != before.messages) return {};
  const Difference difference{Sequence(index << before_shift_), Sequence(((index + 1) << before_shift_) - 1), true};
  if (now.envelopes != before.envelopes) return difference;
#ifndef HOLDFAST_MUTATE_MISSING_PAYLOAD_COUNTS
  if (!now.has_payloads() || !before.has_payloads()) return {};
#endif
  if (now.payloads != before.payloads) return Difference{difference.first, difference.last, false};
  return {};
}

}  // namespace hf::core::vprotocol
