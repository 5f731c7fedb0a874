// Any question to an agent's log service, about a log that may be damaged: an answer of bounded size, always.
#include "daemon/log_service/stream_source.hpp"

#include "logs.hpp"

namespace hf::fuzz {
namespace {

constexpr std::size_t question_bytes = 40;
constexpr std::size_t questions = 8;

struct Provider : daemon::SegmentProvider {
  explicit Provider(Bytes input) : log(input), control_memory(segment::control_bytes(log_ranks) / 8 + 16) {
    segment::ControlView view(base(), log_ranks);
    view.header().magic = segment::control_magic;
    view.header().rank_count = log_ranks;
    view.stream(0) = log.entry;
  }
  std::byte* base() {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(control_memory.data()) + 63) / 64 * 64);
  }
  Bytes control(Rank rank, Incarnation incarnation) override {
    return rank.value == 0 && incarnation.value == 0 ? Bytes(base(), segment::control_bytes(log_ranks)) : Bytes();
  }
  Bytes segment(Rank, Incarnation, std::uint32_t index) override { return log.segment(index); }
  bool is_final(Rank, Incarnation) override { return true; }
  bool make_stable(Rank, std::uint64_t, TestClock) override { return true; }
  LogInput log;
  std::vector<std::uint64_t> control_memory;
};

void check(const daemon::AnswerBody& body) {
  std::size_t bytes = 0;
  for (Bytes piece : body.pieces) {
    touch(piece);
    bytes += piece.size();
  }
  HF_CHECK(bytes == body.bytes && bytes <= wire::log_answer_bytes_max);
}

}  // namespace

Octets sample(Random& random) {
  Octets input;
  ByteWriter writer(input);
  for (std::size_t i = 0; i < questions; ++i) {
    if (random() % 2) {
      writer.put(wire::ReadRequest{.answer_bytes = static_cast<std::uint32_t>(random() % 300'000),
                                   .position = random() % 2 ? 0 : random() % 300 * 64,
                                   .payload_bytes = random() % 100'000});
    } else {
      writer.put(wire::FetchRequest{.chunk = static_cast<std::uint32_t>(random() % 4),
                                    .position = random() % 3 * 64,
                                    .offset = random() % 100,
                                    .length = static_cast<std::uint32_t>(random() % 200)});
    }
  }
  writer.put_bytes(log_sample(random));
  return input;
}

void take(Bytes input) {
  if (input.size() < questions * question_bytes) return;
  Provider provider(input.subspan(questions * question_bytes));
  daemon::StreamSource source(provider, log_ranks);
  daemon::AnswerBody body;
  ByteReader reader(input.first(questions * question_bytes));
  for (std::size_t i = 0; i < questions; ++i) {
    Bytes question = reader.get_bytes(question_bytes);
    source.read(ByteReader(question).get<wire::ReadRequest>(), body);
    check(body);
    source.fetch(ByteReader(question).get<wire::FetchRequest>(), body);
    check(body);
  }
}

}  // namespace hf::fuzz
