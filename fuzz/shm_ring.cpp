// Reading the ring in the control segment of another rank, which may have been overwritten by anything.
#include <cstring>

#include "fuzz.hpp"
#include "rail/shm/ring.hpp"

namespace hf::fuzz {
namespace {
constexpr int ranks = 2;
const Rank writer_rank{0}, reader_rank{1};

struct Control {
  Control() : memory(segment::control_bytes(ranks) / 8 + 16) {}
  segment::ControlView view() {
    auto address = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64;
    return segment::ControlView(reinterpret_cast<std::byte*>(address), ranks);
  }
  std::vector<std::uint64_t> memory;
};
}  // namespace

// An input is the ring, after the opening's first line.
Octets sample(Random& random) {
  Control control;
  rail::shm::RingWriter ring;
  ring.open(control.view(), reader_rank, Incarnation{0}, 0);
  segment::Inbound nothing_taken{};
  for (std::uint64_t i = random() % 60; i > 0; --i) {
    wire::FrameHeader header;
    header.kind = wire::FrameKind::eager;
    header.length = random() % 3 ? random() % 200 : random() % rail::shm::ring_payload_max;
    ring.send(header, nothing_taken, Incarnation{0},
              [](MutableBytes out) { std::memset(out.data(), 0x5a, out.size()); });
  }
  Octets input;
  ByteWriter writer(input);
  writer.put(std::uint64_t{0});
  writer.put_bytes({control.view().ring(reader_rank), segment::ring_bytes});
  return input;
}

void take(Bytes input) {
  Control control;
  segment::ControlView view = control.view();
  ByteReader in(input);
  auto& opening = view.opening(reader_rank);
  opening.first_line = in.get<std::uint64_t>();
  opening.reader_plus_1 = 1;
  std::memcpy(view.ring(reader_rank), in.rest().data(), std::min(in.left(), segment::ring_bytes));
  rail::shm::RingReader ring;
  std::uint64_t position = 0;
  if (!ring.attach(view, reader_rank, Incarnation{0}, position)) return;
  rail::shm::RingFrame frame;
  while (ring.peek(frame)) {
    touch(frame.payload);
    ring.release();
  }
}

}  // namespace hf::fuzz
