// The ring: frames come out whole, in order, once, for every incarnation of the reader.
#include "rail/shm/ring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "base/test_seed.hpp"

namespace hf::rail::shm {
namespace {

using segment::ControlView;
using wire::FrameHeader;
using wire::FrameKind;

// The control segment of one incarnation of one side, in plain memory.
struct Side {
  explicit Side(Rank rank) : self(rank), memory(segment::control_bytes(2) + 64) {
    auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    control = ControlView(memory.data() + (64 - at % 64) % 64, 2);
  }
  Rank self;
  std::vector<std::byte> memory;
  ControlView control;
};

std::byte content(std::uint64_t sequence, std::uint64_t offset) {
  return static_cast<std::byte>(sequence * 131 + offset * 7 + (offset >> 8));
}

bool send(RingWriter& ring, std::uint64_t sequence, std::uint64_t length, const Side& reader, Incarnation own) {
  FrameHeader h;
  h.kind = FrameKind::eager;
  h.sequence = sequence;
  h.length = length;
  return ring.send(h, reader.control.inbound(Rank{0}), own, [&](MutableBytes out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = content(sequence, i);
  });
}

// The next frame's sequence; its payload is checked. Negative: none.
std::int64_t receive(RingReader& ring) {
  RingFrame frame;
  if (!ring.peek(frame)) return -1;
  std::uint64_t offset = 0;
  for (std::byte b : frame.payload) {
    if (b != content(frame.header.sequence, offset)) {
      ADD_FAILURE() << "frame " << frame.header.sequence << " differs at " << offset;
      return -2;
    }
    ++offset;
  }
  EXPECT_EQ(offset, wire::payload_on_rail(frame.header));
  auto sequence = static_cast<std::int64_t>(frame.header.sequence);
  ring.release();
  return sequence;
}

constexpr Rank writer_rank{0}, reader_rank{1};

TEST(Ring, RandomFramesWrapAroundWholeAndInOrder) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  Side writer(writer_rank), reader(reader_rank);
  RingWriter out;
  RingReader in;
  std::uint64_t position = 0;
  EXPECT_FALSE(in.attach(writer.control, reader_rank, Incarnation{0}, position)) << "not opened yet";
  out.open(writer.control, reader_rank, Incarnation{0}, 4711);
  ASSERT_TRUE(in.attach(writer.control, reader_rank, Incarnation{0}, position));
  EXPECT_EQ(position, 4711u);
  std::uint64_t sent = 0, got = 0;
  while (got < 20000) {
    std::uint64_t length = draw() % 5 ? draw() % 500 : draw() % (ring_payload_max + 1);
    if (draw() % 2 && send(out, sent, length, reader, Incarnation{0})) ++sent;
    if (draw() % 2) continue;
    std::int64_t next = receive(in);
    if (next < 0) {
      ASSERT_EQ(got, sent);
      continue;
    }
    ASSERT_EQ(static_cast<std::uint64_t>(next), got++);
    in.publish(reader.control.inbound(writer_rank), Incarnation{0}, 1 + draw() % 64);
  }
}

TEST(Ring, AFullRingTakesNothingAndLosesNothing) {
  Side writer(writer_rank), reader(reader_rank);
  RingWriter out;
  RingReader in;
  std::uint64_t position = 0;
  out.open(writer.control, reader_rank, Incarnation{0}, 0);
  ASSERT_TRUE(in.attach(writer.control, reader_rank, Incarnation{0}, position));
  std::uint64_t sent = 0;
  while (send(out, sent, ring_payload_max, reader, Incarnation{0})) ++sent;
  // One line stays free, and a frame does not wrap.
  constexpr std::uint64_t largest = lines_for(FrameKind::eager, ring_payload_max);
  EXPECT_EQ(sent, (ring_lines - 1) / largest);
  std::uint64_t small = 0;
  while (send(out, sent + small, 0, reader, Incarnation{0})) ++small;
  EXPECT_EQ(small, ring_lines - 1 - sent * largest);
  EXPECT_EQ(receive(in), 0);
  EXPECT_FALSE(send(out, sent + small, 0, reader, Incarnation{0})) << "taken, but not told";
  in.publish(reader.control.inbound(writer_rank), Incarnation{0});
  // The ring's last line is skipped: the frame fits behind it, into what the first one has left.
  std::uint64_t fits = (largest - 2) * line_bytes - payload_offset(FrameKind::eager);
  EXPECT_FALSE(send(out, sent + small, fits + 2 * line_bytes, reader, Incarnation{0}));
  EXPECT_TRUE(send(out, sent + small, fits, reader, Incarnation{0}));
  EXPECT_TRUE(send(out, sent + small + 1, 0, reader, Incarnation{0}));
  EXPECT_FALSE(send(out, sent + small + 2, 0, reader, Incarnation{0}));
  for (std::uint64_t i = 1; i <= sent + small + 1; ++i) ASSERT_EQ(receive(in), static_cast<std::int64_t>(i));
  EXPECT_EQ(receive(in), -1);
}

// Design section 6.3: a channel joins two incarnations. Numbering of lines goes on, so that nothing an earlier reader
// left behind is taken for new.
TEST(Ring, ReopeningToANewIncarnationStartsAfterAllThatWasWritten) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  Side writer(writer_rank);
  RingWriter out;
  std::uint64_t sent = 0;
  for (std::uint32_t incarnation = 0; incarnation < 60; ++incarnation) {
    Side reader(reader_rank);
    RingReader in;
    std::uint64_t position = 0;
    EXPECT_FALSE(in.attach(writer.control, reader_rank, Incarnation{incarnation}, position)) << "open to its predecessor";
    out.open(writer.control, reader_rank, Incarnation{incarnation}, incarnation * 1000);
    bool early = draw() % 2;
    std::uint64_t expected = sent;
    if (early && send(out, sent, draw() % 3000, reader, Incarnation{0})) ++sent;
    ASSERT_TRUE(in.attach(writer.control, reader_rank, Incarnation{incarnation}, position));
    EXPECT_EQ(position, incarnation * 1000);
    for (int i = 0; i < 400; ++i) {
      if (send(out, sent, draw() % 3000, reader, Incarnation{0})) ++sent;
      if (draw() % 2 == 0) continue;
      std::int64_t next = receive(in);
      if (next < 0) continue;
      ASSERT_EQ(static_cast<std::uint64_t>(next), expected++);
      if (draw() % 3) in.publish(reader.control.inbound(writer_rank), Incarnation{0});
    }  // dies here, with frames left in the ring
  }
  EXPECT_GT(sent, 1000u);
}

TEST(Ring, ProgressOfAnotherIncarnationOfTheWriterIsNotTaken) {
  Side writer(writer_rank), reader(reader_rank);
  RingWriter out;
  out.open(writer.control, reader_rank, Incarnation{0}, 0);
  Incarnation own{3};
  while (send(out, 0, 0, reader, own)) {
  }
  segment::Inbound& inbound = reader.control.inbound(writer_rank);
  auto told = [](std::uint64_t incarnation, std::uint64_t lines) {
    return (incarnation + 1) << segment::taken_bits | lines;
  };
  for (std::uint64_t other : {0, 2, 4}) {
    inbound.taken = told(other, 200);
    EXPECT_FALSE(send(out, 0, 0, reader, own)) << other;
  }
  inbound.taken = 200;
  EXPECT_FALSE(send(out, 0, 0, reader, own)) << "zero page with a count";
  inbound.taken = told(3, 200);
  EXPECT_TRUE(send(out, 0, 0, reader, own));
  inbound.taken = told(3, 100);  // never backwards
  for (int i = 0; i < 199; ++i) ASSERT_TRUE(send(out, 0, 0, reader, own));
  EXPECT_FALSE(send(out, 0, 0, reader, own));
}

// The word holds 40 bits of the count. The ring is opened just below the wrap, as a writer with a long life would.
TEST(Ring, TheTakenWordWrapsAround) {
  Side writer(writer_rank), reader(reader_rank);
  RingWriter out((std::uint64_t{1} << segment::taken_bits) - 100);
  RingReader in;
  std::uint64_t position = 0;
  out.open(writer.control, reader_rank, Incarnation{0}, 0);
  ASSERT_TRUE(in.attach(writer.control, reader_rank, Incarnation{0}, position));
  std::uint64_t sent = 0, got = 0;
  for (int i = 0; i < 3000; ++i) {
    while (send(out, sent, (sent * 37) % 2000, reader, Incarnation{0})) ++sent;
    std::int64_t next = receive(in);
    ASSERT_EQ(next, static_cast<std::int64_t>(got++));
    in.publish(reader.control.inbound(writer_rank), Incarnation{0});
  }
  EXPECT_GT(sent, 2900u);
}

// Bytes of a peer may be anything: a length that no ring could hold is cut, and nothing outside is read.
TEST(Ring, ADamagedLengthIsCutToTheRing) {
  Side writer(writer_rank), reader(reader_rank);
  RingWriter out;
  RingReader in;
  std::uint64_t position = 0;
  out.open(writer.control, reader_rank, Incarnation{0}, 0);
  ASSERT_TRUE(in.attach(writer.control, reader_rank, Incarnation{0}, position));
  ASSERT_TRUE(send(out, 1, 100, reader, Incarnation{0}));
  auto* header = reinterpret_cast<RingHeader*>(writer.control.ring(reader_rank) + 8);
  header->length = UINT64_MAX;
  RingFrame frame;
  ASSERT_TRUE(in.peek(frame));
  EXPECT_EQ(frame.payload.size(), ring_payload_max);
  EXPECT_GE(frame.payload.data(), writer.control.ring(reader_rank));
}

TEST(Ring, TwoThreadsAsTheTwoSides) {
  Side writer(writer_rank), reader(reader_rank);
  constexpr std::uint64_t frames = 30000;
  std::thread sender([&] {
    RingWriter out;
    out.open(writer.control, reader_rank, Incarnation{0}, 0);
    for (std::uint64_t i = 0; i < frames;) {
      if (send(out, i, i % 20 ? i % 400 : i % (ring_payload_max + 1), reader, Incarnation{0})) ++i;
      else std::this_thread::yield();
    }
  });
  RingReader in;
  std::uint64_t position = 0;
  while (!in.attach(writer.control, reader_rank, Incarnation{0}, position)) std::this_thread::yield();
  for (std::uint64_t i = 0; i < frames;) {
    std::int64_t next = receive(in);
    if (next == -1) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(next, static_cast<std::int64_t>(i++));
    in.publish(reader.control.inbound(writer_rank), Incarnation{0}, 1 + i % 16);
  }
  sender.join();
}

}  // namespace
}  // namespace hf::rail::shm
