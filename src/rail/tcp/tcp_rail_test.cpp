#include "rail/tcp/tcp_rail.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "rail/tcp/stream.hpp"

namespace hf::rail::tcp {
namespace {

using Wire = std::vector<std::byte>;
const std::uint32_t loopback = htonl(INADDR_LOOPBACK);

Key key_of(int seed) {
  Key key;
  key.fill(static_cast<std::byte>(seed));
  return key;
}

struct Seen {
  Event event;
  Wire payload;
  std::string reason;
};

// One end: a rail, what it saw, and the habit of accepting everybody.
struct End {
  explicit End(int rank, std::uint32_t incarnation = 0, Options options = {}) {
    options.self = Rank{rank};
    options.incarnation = Incarnation{incarnation};
    options.rank_count = 4;
    if (options.job_key == Key{}) options.job_key = key_of(7);
    options.address = loopback;
    auto opened = TcpRail::open(options);
    EXPECT_TRUE(opened.has_value());
    rail = std::move(*opened);
    self = Peer{options.self, options.incarnation, loopback, rail->port()};
  }
  bool step() {
    Event event;
    if (!rail->poll(event)) return false;
    if (event.kind == Event::incoming && accepting) rail->accept(event.peer, position);
    if (event.kind == Event::head) {
      ++heads;
      if (placing) {
        target.assign(wire::payload_on_rail(event.header), std::byte{0});
        rail->place(event.peer, target);
        if (event.header.sequence >= unplace_from) rail->unplace(event.peer);
      }
      return true;
    }
    seen.push_back({event, Wire(event.payload.begin(), event.payload.end()), std::string(event.reason)});
    if (event.placed) seen.back().payload = target;
    return true;
  }
  int count(Event::Kind kind) const {
    int n = 0;
    for (const Seen& s : seen) n += s.event.kind == kind;
    return n;
  }
  bool send(const End& to, std::uint64_t sequence, Bytes payload) {
    wire::FrameHeader header;
    header.kind = wire::FrameKind::eager;
    header.source = self.rank.value;
    header.incarnation = self.incarnation.value;
    header.sequence = sequence;
    header.length = payload.size();
    return rail->send(to.self.rank, header, {&payload, 1});
  }
  std::unique_ptr<TcpRail> rail;
  Peer self;
  std::vector<Seen> seen;
  bool accepting = true;
  bool placing = false;  // large payloads go to `target`, or nowhere
  std::uint64_t unplace_from = UINT64_MAX;
  Wire target;
  int heads = 0;
  std::uint64_t position = 500;
};

int raw_peers = 0;  // their sockets are not slept on

bool until(const std::function<bool()>& done, const std::vector<End*>& ends, int timeout_ms = 5000) {
  auto stop = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!done()) {
    bool moved = false;
    for (End* end : ends) moved |= end->step();
    if (moved) continue;
    if (std::chrono::steady_clock::now() > stop) return false;
    // Sleeping as an engine does: every wake-up that is missing makes a test slow, then fail.
    std::vector<pollfd> fds;
    for (End* end : ends) fds.push_back({end->rail->descriptor(), POLLIN, 0});
    ::poll(fds.data(), fds.size(), raw_peers > 0 ? 1 : 20);
  }
  return true;
}

void settle(const std::vector<End*>& ends) {
  for (int quiet = 0; quiet < 40; ++quiet)
    for (End* end : ends)
      if (end->step()) quiet = 0;
}

Wire random_bytes(std::mt19937& random, std::size_t n) {
  Wire bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

bool open_pair(End& a, End& b) {
  a.rail->connect(b.self, 100);
  return until([&] { return a.rail->is_open(b.self.rank) && b.rail->is_open(a.self.rank); }, {&a, &b});
}

// Nothing passes while either side holds the other; the connection stands, and what was sent comes afterwards.
TEST(TcpRail, HeldPeersAreNotHeard) {
  for (bool both : {false, true}) {
    End a(0), b(1);
    ASSERT_TRUE(open_pair(a, b));
    ASSERT_TRUE(a.send(b, 0, {}));
    ASSERT_TRUE(until([&] { return b.count(Event::frame) == 1; }, {&a, &b}));
    ASSERT_TRUE(b.send(a, 0, {}));  // on its way
    a.rail->hold(b.self.rank, true);
    if (both) b.rail->hold(a.self.rank, true);
    EXPECT_FALSE(a.send(b, 1, {}));
    EXPECT_EQ(b.send(a, 1, {}), !both);
    settle({&a, &b});
    EXPECT_EQ(a.count(Event::frame), 0);
    EXPECT_EQ(b.count(Event::frame), 1);
    EXPECT_TRUE(a.rail->is_open(b.self.rank) && b.rail->is_open(a.self.rank));
    pollfd sleeper{a.rail->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&sleeper, 1, 20), 0);  // nothing to wake up for
    a.rail->hold(b.self.rank, false);
    b.rail->hold(a.self.rank, false);
    EXPECT_TRUE(a.send(b, 1, {}));
    EXPECT_TRUE(until([&] { return a.count(Event::frame) == (both ? 1 : 2) && b.count(Event::frame) == 2; }, {&a, &b}));
    EXPECT_EQ(a.count(Event::closed) + b.count(Event::closed), 0);
  }
}

TEST(TcpRail, HeldPeersAreNotDialledNorLetIn) {
  End a(0), b(1);
  a.rail->hold(b.self.rank, true);
  a.rail->connect(b.self, 0);
  settle({&a, &b});
  EXPECT_TRUE(a.seen.empty() && b.seen.empty());
  b.rail->connect(a.self, 0);
  EXPECT_TRUE(until([&] { return b.count(Event::closed) == 1; }, {&a, &b}));
  EXPECT_TRUE(a.seen.empty());
  // A dial that is under way when the peer is held goes on afterwards.
  a.rail->hold(b.self.rank, false);
  a.rail->connect(b.self, 0);
  a.rail->hold(b.self.rank, true);
  settle({&a, &b});
  EXPECT_EQ(b.count(Event::incoming), 0);
  a.rail->hold(b.self.rank, false);
  EXPECT_TRUE(until([&] { return a.rail->is_open(b.self.rank) && b.rail->is_open(a.self.rank); }, {&a, &b}));
}

TEST(TcpRail, OpensAndCarriesFrames) {
  End a(0), b(1);
  EXPECT_FALSE(a.send(b, 0, {}));
  ASSERT_TRUE(open_pair(a, b));
  ASSERT_TRUE(until([&] { return a.count(Event::opened) == 1; }, {&a, &b}));
  ASSERT_EQ(b.seen.size(), 1u);
  EXPECT_EQ(b.seen[0].event.opening.position, 100u);
  EXPECT_EQ(a.seen[0].event.opening.position, 500u);
  std::mt19937 random(1);
  std::vector<Wire> sent;
  for (std::uint64_t i = 0; i < 100; ++i) {
    sent.push_back(random_bytes(random, random() % 3000));
    ASSERT_TRUE(a.send(b, i, sent.back()));
    ASSERT_TRUE(b.send(a, i, sent.back()));
    if (i % 10 == 9) {
      ASSERT_TRUE(until([&] { return b.count(Event::frame) == static_cast<int>(i) + 1; }, {&a, &b}));
    }
  }
  ASSERT_TRUE(until([&] { return a.count(Event::frame) == 100 && b.count(Event::frame) == 100; }, {&a, &b}));
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(b.seen[i + 1].event.header.sequence, i);
    EXPECT_EQ(b.seen[i + 1].payload, sent[i]);
    EXPECT_EQ(a.seen[i + 1].payload, sent[i]);
  }
  ASSERT_TRUE(until([&] { return a.rail->unconfirmed_bytes(Rank{1}) == 0; }, {&a, &b}));
}

std::string congestion_control(int fd) {
  char name[16] = "";
  socklen_t size = sizeof name;
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

TEST(TcpStream, InsideAMachineNothingIsPaced) {
  std::uint16_t port = 0;
  const Result<int> listener = listen_on(loopback, port);
  ASSERT_TRUE(listener.has_value());
  const int dialled = dial({loopback, port});
  ASSERT_GE(dialled, 0);
  Endpoint from;
  int accepted = -1;
  while (accepted < 0 || connect_error(dialled, {loopback, port}) == EINPROGRESS) {
    if (accepted < 0) accepted = accept_from(*listener, from);
  }
  EXPECT_EQ(congestion_control(dialled), "reno");
  EXPECT_EQ(congestion_control(accepted), "reno");
  for (int fd : {dialled, accepted, *listener}) ::close(fd);
}

// With a frame before it, of which nothing is sent without it; where it stays queued and where it is sent from where it lasts.
TEST(TcpRail, TakesAFrameWithOneBeforeItOrNeither) {
  for (bool lasting : {false, true}) {
    End a(0), b(1);
    ASSERT_TRUE(open_pair(a, b));
    std::mt19937 random(4);
    wire::FrameHeader header;
    header.source = 0;
    std::vector<Wire> sent, before;
    std::size_t taken = 0;
    for (int i = 0; i < 60; ++i) sent.push_back(random_bytes(random, random() % 100'000));
    for (int i = 0; i < 60; ++i) before.push_back(random_bytes(random, random() % 1000));
    ASSERT_TRUE(until(
        [&] {
          while (taken < sent.size()) {
            Wire first(sizeof(header));
            header.kind = wire::FrameKind::events;
            header.length = before[taken].size();
            std::memcpy(first.data(), &header, sizeof(header));
            first.insert(first.end(), before[taken].begin(), before[taken].end());
            header.kind = wire::FrameKind::eager;
            header.length = sent[taken].size();
            Bytes piece = sent[taken];
            std::span<const Bytes> pieces(&piece, 1);
            if (!a.rail->send(b.self.rank, header, pieces, lasting ? pieces : std::span<const Bytes>(), first)) break;
            ++taken;
          }
          return b.count(Event::frame) == 120;
        },
        {&a, &b}));
    for (std::size_t i = 0; i < 60; ++i) {
      ASSERT_EQ(b.seen[2 * i + 1].event.header.kind, wire::FrameKind::events);
      ASSERT_EQ(b.seen[2 * i + 1].payload, before[i]);
      ASSERT_EQ(b.seen[2 * i + 2].event.header.kind, wire::FrameKind::eager);
      ASSERT_EQ(b.seen[2 * i + 2].payload, sent[i]);
    }
  }
}

TEST(TcpRail, TakesLargeFramesWithBackPressure) {
  End a(0), b(1);
  ASSERT_TRUE(open_pair(a, b));
  std::mt19937 random(2);
  Wire large = random_bytes(random, 1 << 20);
  int taken = 0;
  while (a.send(b, static_cast<std::uint64_t>(taken), large) && taken < 1000) ++taken;
  ASSERT_LT(taken, 100);  // bounded: nobody reads
  EXPECT_GT(a.rail->unconfirmed_bytes(Rank{1}), 1u << 20);
  int total = taken, checked = 0;
  bool done = until(
      [&] {
        while (total < 60 && a.send(b, static_cast<std::uint64_t>(total), large)) ++total;
        for (; checked < static_cast<int>(b.seen.size()); ++checked) {
          Seen& s = b.seen[static_cast<std::size_t>(checked)];
          if (s.event.kind != Event::frame) continue;
          EXPECT_EQ(s.event.header.sequence + 1, static_cast<std::uint64_t>(b.count(Event::frame)));
          EXPECT_EQ(s.payload, large);
          s.payload.clear();
        }
        return b.count(Event::frame) == 60;
      },
      {&a, &b});
  EXPECT_TRUE(done);
}

// Large payloads go straight to their place, small ones between them as ever, whatever pieces they come in.
TEST(TcpRail, PlacesLargePayloads) {
  End a(0), b(1);
  ASSERT_TRUE(open_pair(a, b));
  b.placing = true;
  b.unplace_from = 200;
  std::mt19937 random(3);
  std::vector<Wire> sent;
  std::size_t next = 0;
  for (int i = 0; i < 300; ++i) sent.push_back(random_bytes(random, random() % 3 == 0 ? random() % 400'000 : random() % 20'000));
  ASSERT_TRUE(until(
      [&] {
        if (next < sent.size() && !a.rail->borrows(b.self.rank) && a.send(b, next, sent[next])) ++next;
        return b.count(Event::frame) == 300;
      },
      {&a, &b}));
  EXPECT_GT(b.heads, 50);
  int placed = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Seen& s = b.seen[i + 1];
    placed += s.event.placed;
    EXPECT_EQ(s.event.header.sequence, i);
    EXPECT_EQ(s.event.header.length, sent[i].size());
    if (!s.event.placed || i < 200) {
      EXPECT_EQ(s.payload, sent[i]);
    }
  }
  EXPECT_GT(placed, 50);
}

// What the socket does not take at once is sent from where it lasts: it may be changed once it is not borrowed. What was given to be
// sent at once is not looked at again.
TEST(TcpRail, SendsTheRestFromWhereItLasts) {
  End a(0), b(1);
  ASSERT_TRUE(open_pair(a, b));
  std::mt19937 random(4);
  std::vector<Wire> sent;
  for (int i = 0; i < 60; ++i) sent.push_back(random_bytes(random, 1 + random() % (1 << 20)));
  Wire lent;
  std::size_t next = 0;
  bool borrowed = false;
  ASSERT_TRUE(until(
      [&] {
        if (next < sent.size() && !a.rail->borrows(b.self.rank)) {
          lent = sent[next];
          std::size_t half = lent.size() / 2, third = lent.size() / 3;
          Bytes lasting[2] = {Bytes(lent).first(half), Bytes(lent).subspan(half)};
          Wire now = lent;
          Bytes pieces[2] = {Bytes(now).first(third), Bytes(now).subspan(third)};
          wire::FrameHeader header;
          header.kind = wire::FrameKind::eager;
          header.sequence = next;
          header.length = lent.size();
          next += a.rail->send(b.self.rank, header, pieces, lasting);
          now.assign(now.size(), std::byte{0xdd});
          if (a.rail->borrows(b.self.rank)) {
            borrowed = true;
            EXPECT_GT(a.rail->unconfirmed_bytes(b.self.rank), 0u);
            EXPECT_FALSE(a.send(b, 0, {}));
          }
        }
        return b.count(Event::frame) == 60;
      },
      {&a, &b}));
  EXPECT_TRUE(borrowed);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(b.seen[i + 1].payload, sent[i]);
}

// 1000 interleavings of two dials: exactly one connection, and it is agreed on.
TEST(TcpRail, OfTwoDialsOneWins) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    End low(0), high(1);
    bool low_dialled = false, high_dialled = false;
    for (int step = 0; step < 60; ++step) {
      switch (random() % 6) {
        case 0: low.rail->connect(high.self, 10), low_dialled = true; break;
        case 1: high.rail->connect(low.self, 20), high_dialled = true; break;
        case 2:
        case 3: low.step(); break;
        default: high.step(); break;
      }
    }
    if (!low_dialled) low.rail->connect(high.self, 10);
    if (!high_dialled) high.rail->connect(low.self, 20);
    ASSERT_TRUE(until([&] { return low.rail->is_open(Rank{1}) && high.rail->is_open(Rank{0}); }, {&low, &high}));
    for (std::uint64_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(low.send(high, i, {}));
      ASSERT_TRUE(high.send(low, i, {}));
    }
    ASSERT_TRUE(until([&] { return low.count(Event::frame) == 5 && high.count(Event::frame) == 5; }, {&low, &high}));
    for (End* end : {&low, &high}) {
      EXPECT_EQ(end->count(Event::closed), 0);
      EXPECT_EQ(end->count(Event::opened) + end->count(Event::incoming), 1);
      std::uint64_t next = 0;
      for (const Seen& s : end->seen) {
        if (s.event.kind != Event::frame) continue;
        EXPECT_EQ(s.event.header.sequence, next++);
      }
    }
  }
}

// Random closes, dials and frames on both sides: always recovers, frames within one connection are a dense run.
TEST(TcpRail, ReopensAfterResets) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    End a(0), b(1);
    std::uint64_t sent[2] = {0, 0};
    for (int step = 0; step < 300; ++step) {
      int side = static_cast<int>(random() % 2);
      End &self = side ? b : a, &other = side ? a : b;
      self.position = sent[side];
      switch (random() % 40) {
        case 0: self.rail->close(other.self.rank); break;
        case 1:
        case 2:
        case 3: self.rail->connect(other.self, sent[side]); break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
          if (self.send(other, sent[side], random_bytes(random, random() % 5000))) ++sent[side];
          break;
        default: self.step(); break;
      }
    }
    auto both_open = [&] { return a.rail->is_open(Rank{1}) && b.rail->is_open(Rank{0}); };
    ASSERT_TRUE(until(
        [&] {
          if (!a.rail->is_open(Rank{1})) a.position = sent[0], a.rail->connect(b.self, sent[0]);
          if (!b.rail->is_open(Rank{0})) b.position = sent[1];
          return both_open();
        },
        {&a, &b}));
    a.position = sent[0], b.position = sent[1];
    settle({&a, &b});
    if (!both_open()) {  // a close of the dance was still on its way
      a.rail->connect(b.self, sent[0]);
      ASSERT_TRUE(until(both_open, {&a, &b}));
    }
    for (End* end : {&a, &b}) {
      std::uint64_t next = 0;
      for (const Seen& s : end->seen) {
        if (s.event.kind == Event::opened || s.event.kind == Event::incoming) next = s.event.opening.position;
        if (s.event.kind != Event::frame) continue;
        ASSERT_EQ(s.event.header.sequence, next++);
      }
    }
  }
}

TEST(TcpRail, NewIncarnationReplacesTheOld) {
  End a(0), old(1, 0);
  ASSERT_TRUE(open_pair(a, old));
  End young(1, 1);
  young.rail->connect(a.self, 7);
  ASSERT_TRUE(until([&] { return young.rail->is_open(Rank{0}); }, {&a, &old, &young}));
  ASSERT_TRUE(until([&] { return old.count(Event::closed) == 1; }, {&a, &old, &young}));
  ASSERT_EQ(a.count(Event::closed), 1);
  EXPECT_EQ(a.seen.back().event.kind, Event::incoming);
  EXPECT_EQ(a.seen.back().event.incarnation, Incarnation{1});
  // The old one is refused from now on.
  old.rail->connect(a.self, 9);
  ASSERT_TRUE(until([&] { return old.count(Event::closed) == 2; }, {&a, &old, &young}));
  EXPECT_EQ(a.count(Event::incoming), 1);
  EXPECT_TRUE(a.rail->is_open(Rank{1}));
  // And one that believes to talk to another incarnation of us.
  Peer wrong = a.self;
  wrong.incarnation = Incarnation{3};
  End third(2);
  third.rail->connect(wrong, 0);
  ASSERT_TRUE(until([&] { return third.count(Event::closed) == 1; }, {&a, &third}));
  EXPECT_EQ(a.count(Event::incoming), 1);
}

TEST(TcpRail, ToldOfANewIncarnationDropsTheOld) {
  End a(0), b(1);
  ASSERT_TRUE(open_pair(a, b));
  a.rail->peer_incarnation(Rank{1}, Incarnation{1});
  EXPECT_FALSE(a.rail->is_open(Rank{1}));
  settle({&a, &b});
  EXPECT_EQ(a.count(Event::closed), 0);
  EXPECT_EQ(b.count(Event::closed), 1);
  a.rail->connect(b.self, 0);  // incarnation 0
  settle({&a});
  EXPECT_EQ(a.count(Event::closed), 1);
}

TEST(TcpRail, RefusesAnotherKeyAndSaysSoOnce) {
  End a(0);
  End foreign(1, 0, Options{.job_key = key_of(8)});
  for (int i = 1; i <= 3; ++i) {
    foreign.rail->connect(a.self, 0);
    ASSERT_TRUE(until([&] { return foreign.count(Event::closed) == i; }, {&a, &foreign}));
  }
  EXPECT_EQ(a.count(Event::stranger), 1);
  EXPECT_EQ(a.seen.size(), 1u);
  EXPECT_NE(a.seen[0].reason.find("127.0.0.1"), std::string::npos);
}

TEST(TcpRail, WrongRankAtAPortIsRefused) {
  End a(0), b(1);
  Peer wrong = b.self;
  wrong.rank = Rank{2};
  a.rail->connect(wrong, 0);
  ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a, &b}));
  EXPECT_TRUE(b.seen.empty());
}

TEST(TcpRail, NobodyListensIsClosed) {
  End a(0);
  Peer nobody;
  {
    End b(1);
    nobody = b.self;
  }
  a.rail->connect(nobody, 0);
  ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a}));
  EXPECT_FALSE(a.seen[0].event.established);
}

TEST(TcpRail, RefusedByTheEngine) {
  End a(0), b(1);
  b.accepting = false;
  a.rail->connect(b.self, 0);
  ASSERT_TRUE(until([&] { return b.count(Event::incoming) == 1; }, {&a, &b}));
  EXPECT_FALSE(b.rail->is_open(Rank{0}));
  b.rail->refuse(Rank{0});
  ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a, &b}));
}

TEST(TcpRail, AnIncomingMayGoAway) {
  End a(0), b(1);
  b.accepting = false;
  a.rail->connect(b.self, 0);
  ASSERT_TRUE(until([&] { return b.count(Event::incoming) == 1; }, {&a, &b}));
  a.rail->close(Rank{1});
  ASSERT_TRUE(until([&] { return b.count(Event::closed) == 1; }, {&a, &b}));
  EXPECT_FALSE(b.rail->accept(Rank{0}, 1));
}

// A client made by hand: a socket and a handshake, and full control of each byte.
struct RawPeer {
  RawPeer(const End& to, std::uint64_t dial_number, Wire* tape = nullptr) {
    ++raw_peers;
    fd = dial({loopback, to.self.port});
    EXPECT_GE(fd, 0);
    Introduction introduction;
    introduction.opening = {.rank = 3, .incarnation = 0, .peer_incarnation = to.self.incarnation.value, .position = 1};
    introduction.target = to.self.rank.value;
    introduction.dial = dial_number;
    handshake = Handshake::dial(key_of(7), Purpose::rail, fresh_nonce(), introduction);
    recording = tape;
  }
  ~RawPeer() {
    --raw_peers;
    if (fd >= 0) ::close(fd);
  }
  // Says at most `most` bytes of the handshake; false when there was nothing to say or hear.
  bool talk(std::size_t most) {
    bool moved = false;
    Bytes out = handshake->output();
    if (ssize_t n = ::send(fd, out.data(), std::min(most, out.size()), MSG_NOSIGNAL); n > 0) {
      if (recording) recording->insert(recording->end(), out.begin(), out.begin() + n);
      handshake->sent(static_cast<std::size_t>(n)), moved = true;
    }
    if (!handshake->room().empty())
      if (ssize_t n = ::recv(fd, handshake->room().data(), handshake->room().size(), 0); n > 0)
        handshake->received(static_cast<std::size_t>(n)), moved = true;
    return moved;
  }
  bool open(End& to) {
    return until([&] { return talk(1000), handshake->state() == Handshake::State::done; }, {&to});
  }
  bool say(Bytes bytes) { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()); }
  bool ended() {
    std::byte b;
    ssize_t n = ::recv(fd, &b, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  int fd;
  std::optional<Handshake> handshake;
  Wire* recording;
};

TEST(TcpRail, TruncatedHandshakesLeaveNothing) {
  End a(0, 0, Options{.half_open_max = 8});
  for (std::size_t cut = 0; cut < 120; ++cut) {
    RawPeer raw(a, 1);
    std::size_t said = 0;
    until(
        [&] {
          std::size_t before = raw.handshake->output().size();
          raw.talk(std::min<std::size_t>(cut - said, 7));
          said += before > raw.handshake->output().size() ? before - raw.handshake->output().size() : 0;
          return said >= cut;
        },
        {&a}, 200);
  }
  settle({&a});
  EXPECT_EQ(a.count(Event::stranger), 0);
  EXPECT_EQ(a.count(Event::frame), 0);
  End b(1);
  EXPECT_TRUE(open_pair(b, a));
}

TEST(TcpRail, ReplayedHandshakeIsRefused) {
  End a(0);
  Wire tape;
  {
    RawPeer raw(a, 1, &tape);
    ASSERT_TRUE(raw.open(a));
  }
  ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a}));
  RawPeer replay(a, 1);
  ASSERT_TRUE(replay.say(tape));
  ASSERT_TRUE(until([&] { return replay.ended(); }, {&a}));
  EXPECT_EQ(a.count(Event::incoming), 1);
  EXPECT_EQ(a.count(Event::stranger), 1);
}

TEST(TcpRail, AnOlderDialOfTheSameIncarnationIsStale) {
  End a(0);
  RawPeer newer(a, 2), older(a, 1);
  ASSERT_TRUE(newer.open(a));
  ASSERT_TRUE(older.open(a));
  EXPECT_EQ(older.handshake->verdict(), Verdict::stale);
  EXPECT_TRUE(a.rail->is_open(Rank{3}));
  RawPeer newest(a, 3);
  ASSERT_TRUE(newest.open(a));
  EXPECT_EQ(newest.handshake->verdict(), Verdict::accepted);
  EXPECT_EQ(a.count(Event::closed), 1);
}

// Two dials of one peer prove themselves while this process is elsewhere, past their deadline: the timer looks at both in one
// turn, and the second ends the first, which nobody has heard of.
TEST(TcpRail, OfAnIncomingThatEndedUnheardNothingIsTold) {
  End a(0, 0, Options{.handshake_timeout_ms = 50});
  RawPeer first(a, 1), second(a, 2);
  for (RawPeer* raw : {&first, &second}) {
    raw->talk(1000);
    auto may_prove = [&] { return raw->talk(0), !raw->handshake->output().empty(); };
    ASSERT_TRUE(until(may_prove, {&a}));
  }
  ::usleep(100'000);  // the timer becomes ready before the sockets
  ASSERT_TRUE(first.talk(1000));
  ASSERT_TRUE(second.talk(1000));
  ASSERT_TRUE(second.open(a));
  settle({&a});
  EXPECT_EQ(second.handshake->verdict(), Verdict::accepted);
  EXPECT_TRUE(a.rail->is_open(Rank{3}));
  wire::FrameHeader header;
  header.kind = wire::FrameKind::eager;
  header.source = 3;
  ASSERT_TRUE(second.say(std::as_bytes(std::span(&header, 1))));
  ASSERT_TRUE(until([&] { return a.count(Event::frame) == 1; }, {&a}));
  EXPECT_EQ(a.count(Event::incoming), 1);
  EXPECT_EQ(a.count(Event::closed), 0);
  EXPECT_TRUE(first.ended());
}

TEST(TcpRail, SilentStrangersDoNotKeepOthersOut) {
  End a(0, 0, Options{.handshake_timeout_ms = 50, .half_open_max = 4});
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(dial({loopback, a.self.port}));
  End b(1);
  EXPECT_TRUE(open_pair(b, a));
  EXPECT_EQ(a.count(Event::stranger), 1);
  for (int fd : silent) ::close(fd);
}

TEST(TcpRail, RandomBytesToThePort) {
  End a(0);
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    RawPeer raw(a, seed + 1);
    raw.say(random_bytes(random, 1 + random() % 400));
    settle({&a});
  }
  EXPECT_EQ(a.seen.size(), 1u);
  EXPECT_EQ(a.count(Event::stranger), 1);
}

// Frames cut into random pieces, then cut off: whole ones arrive, then `closed`.
TEST(TcpRail, FramesInPieces) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    End a(0);
    RawPeer raw(a, 1);
    ASSERT_TRUE(raw.open(a));
    Wire stream;
    std::vector<Wire> sent;
    for (std::uint64_t i = 0; i < 20; ++i) {
      sent.push_back(random_bytes(random, random() % (i == 7 ? 1 << 20 : 2000)));
      wire::FrameHeader header;
      header.kind = wire::FrameKind::eager;
      header.source = 3;
      header.sequence = i;
      header.length = sent.back().size();
      ByteWriter writer(stream);
      writer.put(header);
      writer.put_bytes(sent.back());
    }
    std::size_t cut = stream.size() - random() % (sent.back().size() + sizeof(wire::FrameHeader)), at = 0;
    int whole = cut == stream.size() ? 20 : 19;
    while (at < cut) {
      std::size_t n = std::min<std::size_t>(cut - at, 1 + random() % (random() % 4 ? 300 : 100'000));
      ssize_t said = ::send(raw.fd, stream.data() + at, n, MSG_NOSIGNAL);
      if (said > 0) at += static_cast<std::size_t>(said);
      for (unsigned i = random() % 3; i > 0; --i) a.step();
    }
    ::close(raw.fd);
    raw.fd = -1;
    ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a}));
    ASSERT_EQ(a.count(Event::frame), whole);
    for (std::size_t i = 0; i < static_cast<std::size_t>(whole); ++i) ASSERT_EQ(a.seen[i + 1].payload, sent[i]);
  }
}

TEST(TcpRail, ImplausibleFramesCloseTheConnection) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    End a(0);
    RawPeer raw(a, 1);
    ASSERT_TRUE(raw.open(a));
    wire::FrameHeader header;
    header.kind = wire::FrameKind::eager;
    header.source = 3;
    header.length = seed % 4 == 0 ? (1 << 20) + 1 + random() : 0;
    if (seed % 4 == 1) header.kind = static_cast<wire::FrameKind>(9 + random() % 200);
    if (seed % 4 == 2) header.source = static_cast<std::int32_t>(random() | 4);
    if (seed % 4 == 3) header.flags = static_cast<std::uint8_t>(8 | random());
    Wire bytes(sizeof(header));
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (seed % 4 == 2 && header.source == 3) continue;
    raw.say(bytes);
    ASSERT_TRUE(until([&] { return a.count(Event::closed) == 1; }, {&a}));
    EXPECT_EQ(a.count(Event::frame), 0);
    EXPECT_TRUE(a.seen.back().event.established);
  }
}

TEST(TcpRail, RandomBytesAfterTheHandshakeNeverHurt) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    End a(0);
    RawPeer raw(a, 1);
    ASSERT_TRUE(raw.open(a));
    Wire bytes = random_bytes(random, 1 + random() % 3000);
    bytes[0] = static_cast<std::byte>(1 + random() % 6);
    raw.say(bytes);
    settle({&a});
  }
}

}  // namespace
}  // namespace hf::rail::tcp
