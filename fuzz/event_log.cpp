// The events of a rank's predecessors, as they stand in its log or come from another agent: taken whole, or called damaged.
#include "base/check.hpp"
#include "core/vprotocol/optimist.hpp"
#include "core/vprotocol/test_events.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {

namespace vp = core::vprotocol;

Octets sample(Random& random) {
  Octets out;
  std::uint64_t clock = 0;
  for (std::uint64_t n = random() % 30; n > 0; --n) {
    const auto kind = random() % 5 == 0 ? vp::EventKind::dependency : static_cast<vp::EventKind>(1 + random() % 4);
    std::vector<std::int32_t> indices(kind == vp::EventKind::delivery ? random() % 5 : 0);
    for (auto& index : indices) index = static_cast<std::int32_t>(random() % 100);
    const auto count = static_cast<std::uint32_t>(kind == vp::EventKind::delivery ? indices.size() : random() % 2);
    vp::encode(out, {kind, count, kind == vp::EventKind::delivery ? clock += 1 + random() % 3 : n}, indices);
  }
  return out;
}

void take(Bytes input) {
  const std::size_t whole = vp::whole_events(input);
  HF_CHECK(whole <= input.size());
  vp::CutTable cuts;
  for (int rank = 0; rank < 2; ++rank) cuts.add(Rank(rank), Term(1), 16);
  if (const auto lost = vp::first_lost(input, cuts)) HF_CHECK(*lost < whole);
  const vp::StableVector stable;
  vp::Optimist optimist(Rank(0), stable);
  optimist.begin(Term(1), input);
  vp::Replay replay;
  for (ByteReader in(input.first(whole)); in.left() > 0;) {
    const auto head = in.get<vp::EventHead>();
    Bytes body = in.get_bytes(vp::encoded_bytes(head) - sizeof head);
    HF_CHECK(in.ok());
    std::vector<std::int32_t> indices(head.kind == vp::EventKind::delivery ? head.count : 0);
    if (!indices.empty()) std::memcpy(indices.data(), body.data(), indices.size() * sizeof indices[0]);
    if (!replay.load(head, indices)) return;
  }
  if (!replay.end_loading()) return;
  double time = 0;
  bool outcome = false;
  for (std::uint64_t i = 0; i < 200; ++i) {
    replay.on_post(RequestNumber{i});
    touch(std::as_bytes(replay.on_test(TestClock{i + 1}).which));
    replay.take_time(time);
    replay.take_cancel(RequestNumber{i}, outcome);
  }
}

}  // namespace hf::fuzz
