// The agent's log server and the rank's client, joined by real sockets, over logs written by real writers.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "daemon/log_service/log_server.hpp"
#include "engine/remote_log.hpp"
#include "rail/tcp/stream.hpp"
#include "segment/log_writer.hpp"

namespace hf::daemon {
namespace {

using engine::RemoteAnswer;
using engine::RemoteLog;
using engine::RemoteRecord;
using engine::RemoteStream;
using Octets = std::vector<std::byte>;

constexpr int ranks = 4;
const std::uint32_t loopback = htonl(INADDR_LOOPBACK);
const NodeId node{1};

rail::tcp::Key key_of(int seed) {
  rail::tcp::Key key;
  key.fill(static_cast<std::byte>(seed));
  return key;
}

Octets random_bytes(std::mt19937& random, std::size_t n) {
  Octets bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// The segments of one incarnation, and what its writer was given.
struct FakeRank {
  FakeRank(Rank rank, Incarnation incarnation)
      : control(segment::control_bytes(ranks) + 64), writer(view(), [this] { return new_segment(); }), source(rank) {
    segment::ControlHeader& header = view().header();
    header.rank = rank.value;
    header.rank_count = ranks;
    header.incarnation = incarnation.value;
    header.magic = segment::control_magic;
  }
  std::byte* base() {
    auto address = reinterpret_cast<std::uintptr_t>(control.data());
    return control.data() + (64 - address % 64) % 64;
  }
  segment::ControlView view() { return segment::ControlView(base(), ranks); }
  Bytes control_bytes() { return {base(), segment::control_bytes(ranks)}; }
  MutableBytes new_segment() {
    constexpr std::size_t bytes = 64 * segment::chunk_bytes;
    segments.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free);
    std::memset(segments.back().get(), 0, bytes);
    return {segments.back().get(), bytes};
  }
  void append(std::mt19937& random, int destination, std::size_t payload_bytes, bool depends = false) {
    Octets payload = random_bytes(random, payload_bytes);
    wire::FrameHeader header;
    header.kind = payload_bytes > 4000 ? wire::FrameKind::rendezvous : wire::FrameKind::eager;
    if (depends) header.kind = wire::FrameKind::dependencies;
    header.source = source.value;
    header.sequence = sent[destination].size();
    header.length = payload_bytes;
    ASSERT_TRUE(writer.reserve(payload_bytes));
    segment::Record record = writer.append(destination, header, [&](std::uint64_t offset, MutableBytes out) {
      std::memcpy(out.data(), payload.data() + offset, out.size());
    });
    sent[destination].push_back({record.header, record.chunk, payload});
  }
  struct Sent {
    wire::FrameHeader header;
    segment::ChunkId chunk;
    Octets payload;
  };
  Octets control;
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> segments;
  segment::LogWriter writer;
  Rank source;
  bool is_final = false;
  std::map<int, std::vector<Sent>> sent;
};

struct FakeNode : SegmentProvider {
  FakeRank& add(int rank, std::uint32_t incarnation) {
    auto& r = all[{rank, incarnation}];
    r = std::make_unique<FakeRank>(Rank{rank}, Incarnation{incarnation});
    return *r;
  }
  FakeRank* find(Rank rank, Incarnation incarnation) {
    auto at = all.find({rank.value, incarnation.value});
    return at == all.end() ? nullptr : at->second.get();
  }
  Bytes control(Rank rank, Incarnation incarnation) override {
    FakeRank* r = find(rank, incarnation);
    return r ? r->control_bytes() : Bytes();
  }
  Bytes segment(Rank rank, Incarnation incarnation, std::uint32_t index) override {
    FakeRank* r = find(rank, incarnation);
    return r && index < r->segments.size() ? Bytes(r->segments[index].get(), 64 * segment::chunk_bytes) : Bytes();
  }
  bool is_final(Rank rank, Incarnation incarnation) override {
    FakeRank* r = find(rank, incarnation);
    return r && r->is_final;
  }
  bool make_stable(Rank, std::uint64_t events, TestClock failed) override {
    ++asked;
    return events <= stable && failed <= stable_failed;
  }
  std::uint64_t stable = 0;
  TestClock stable_failed{};
  int asked = 0;
  std::map<std::pair<int, std::uint32_t>, std::unique_ptr<FakeRank>> all;
};

struct Job {
  Job() : listener(*rail::tcp::listen_on(loopback, port)) {
    start();
    client.agent(node, loopback, port);
  }
  ~Job() { ::close(listener); }
  void start() {
    server = std::make_unique<LogServer>(listener, LogServerOptions{.node = node, .rank_count = ranks, .job_key = key_of(7)},
                                         provider);
  }
  // One answer, or nothing within the time.
  bool next(RemoteAnswer& answer, int timeout_ms = 5000) {
    std::int64_t stop = rail::tcp::monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
    while (!client.poll(answer)) {
      if (rail::tcp::monotonic_ns() > stop) return false;
      pollfd fds[] = {{client.descriptor(), POLLIN, 0}, {server ? server->descriptor() : -1, POLLIN, 0}};
      ::poll(fds, 2, 50);
      if (server) server->poll();
    }
    return true;
  }
  std::uint16_t port = 0;
  int listener;
  FakeNode provider;
  std::unique_ptr<LogServer> server;
  RemoteLog client{Rank{0}, Incarnation{0}, ranks, key_of(7)};
};

RemoteStream stream_of(int source, std::uint32_t incarnation = 0, int destination = 0) {
  return {.node = node, .source = Rank{source}, .incarnation = Incarnation{incarnation}, .destination = Rank{destination}};
}

std::size_t random_size(std::mt19937& random) {
  switch (random() % 10) {
    case 0: return 0;
    case 1: return random() % 600'000;
    case 2: return random() % 30'000;
    default: return random() % 500;
  }
}

bool fetch_all(Job& job, const RemoteStream& stream, const RemoteRecord& record, Octets& out) {
  std::uint64_t id = job.client.fetch(stream, record.header.position, record.chunk, 0, record.header.length);
  out.clear();
  for (RemoteAnswer piece;;) {
    if (!job.next(piece) || piece.id != id || piece.kind != RemoteAnswer::bytes || piece.absent || piece.damaged ||
        piece.offset != out.size())
      return false;
    out.insert(out.end(), piece.data.begin(), piece.data.end());
    if (piece.last) return true;
  }
}

// Streams are read while they grow, with budgets small and large, the server being lost at times.
TEST(LogService, GivesWhatWasLogged) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Job job;
    FakeRank& rank = job.provider.add(2, 1);
    RemoteStream stream = stream_of(2, 1, 0);
    std::uint64_t position = 0;
    std::size_t seen = 0;
    for (bool more = true; more;) {
      if (!rank.is_final) {
        for (unsigned i = random() % 12; i > 0; --i) rank.append(random, static_cast<int>(random() % 3), random_size(random));
        rank.writer.publish(0);
        rank.is_final = random() % 10 == 0;
      }
      if (random() % 4 == 0) job.server.reset(), job.start();
      std::uint64_t id = job.client.read(stream, position, random() % 2 ? random() % 2000 : 1 << 20, 5);
      RemoteAnswer answer;
      ASSERT_TRUE(job.next(answer));
      ASSERT_EQ(answer.id, id);
      ASSERT_EQ(answer.kind, RemoteAnswer::records);
      ASSERT_FALSE(answer.damaged || answer.absent);
      std::vector<RemoteRecord> records(answer.run.begin(), answer.run.end());
      std::vector<Octets> payloads;
      for (const RemoteRecord& r : records) payloads.emplace_back(r.payload.begin(), r.payload.end());
      position = answer.next;
      more = !(answer.is_final && position == answer.published);
      for (std::size_t i = 0; i < records.size(); ++i, ++seen) {
        ASSERT_LT(seen, rank.sent[0].size());
        const FakeRank::Sent& sent = rank.sent[0][seen];
        ASSERT_EQ(std::memcmp(&records[i].header, &sent.header, sizeof(sent.header)), 0);
        ASSERT_EQ(records[i].chunk, sent.chunk);
        if (records[i].omitted && random() % 2 == 0) job.server.reset(), job.start();
        bool fetched = !records[i].omitted || fetch_all(job, stream, records[i], payloads[i]);
        ASSERT_TRUE(fetched);
        ASSERT_EQ(payloads[i], sent.payload);
      }
    }
    EXPECT_EQ(seen, rank.sent[0].size());
    EXPECT_TRUE(job.client.idle());
  }
}

TEST(LogService, KeepsTheBudget) {
  Job job;
  std::mt19937 random(3);
  FakeRank& rank = job.provider.add(1, 0);
  for (int i = 0; i < 50; ++i) rank.append(random, 0, 1000);
  rank.writer.publish(0);
  job.client.read(stream_of(1), 0, 10'500, 0);
  RemoteAnswer answer;
  ASSERT_TRUE(job.next(answer));
  ASSERT_EQ(answer.run.size(), 50u);
  std::size_t given = 0;
  for (const RemoteRecord& r : answer.run) given += r.payload.size();
  EXPECT_EQ(given, 10'000u);
}

// Under optimist nobody may take a message without what it depends on.
TEST(LogService, GivesDependenciesWholeWhateverTheBudget) {
  Job job;
  std::mt19937 random(4);
  FakeRank& rank = job.provider.add(1, 0);
  for (int i = 0; i < 200; ++i) rank.append(random, 0, i % 2 == 0 ? wire::dependencies_bytes_max : 1000, i % 2 == 0);
  rank.writer.publish(0);
  std::size_t seen = 0;
  for (std::uint64_t at = 0; seen < 200;) {
    job.client.read(stream_of(1), at, 0, 0);
    RemoteAnswer answer;
    ASSERT_TRUE(job.next(answer));
    ASSERT_FALSE(answer.run.empty());
    for (const RemoteRecord& r : answer.run) {
      EXPECT_EQ(r.omitted, r.header.kind != wire::FrameKind::dependencies) << seen;
      ++seen;
    }
    at = answer.next;
  }
}

TEST(LogService, GivesWhatIsPublishedOnceItsEventsAreStable) {
  Job job;
  std::mt19937 random(5);
  FakeRank& rank = job.provider.add(1, 0);
  RemoteAnswer answer;
  rank.append(random, 0, 10);
  rank.writer.publish(0);
  rank.append(random, 0, 10);
  rank.writer.publish_gated(0, 100, TestClock{3}, 0, {});
  rank.append(random, 0, 10);
  rank.writer.publish_gated(0, 120, TestClock{3}, 0, {});
  rank.is_final = true;
  job.client.read(stream_of(1), 0, 1000, 0);
  ASSERT_TRUE(job.next(answer));
  EXPECT_EQ(answer.run.size(), 1u);
  EXPECT_LT(answer.next, answer.published);
  EXPECT_FALSE(answer.is_final);
  EXPECT_GT(job.provider.asked, 0);
  job.provider.stable = 120;
  job.provider.stable_failed = TestClock{2};
  const std::uint64_t read = answer.next;
  job.client.read(stream_of(1), read, 1000, 0);
  ASSERT_TRUE(job.next(answer));
  EXPECT_TRUE(answer.run.empty());
  job.provider.stable_failed = TestClock{3};
  job.client.read(stream_of(1), read, 1000, 0);
  ASSERT_TRUE(job.next(answer));
  EXPECT_EQ(answer.run.size(), 2u);
  EXPECT_TRUE(answer.is_final);
  // What is stable is given whatever comes behind it.
  rank.append(random, 0, 10);
  rank.writer.publish_gated(0, 200, TestClock{3}, 120, TestClock{3});
  job.client.read(stream_of(1), read, 1000, 0);
  ASSERT_TRUE(job.next(answer));
  EXPECT_EQ(answer.run.size(), 2u);
}

TEST(LogService, WaitsForWhatIsNotThereYet) {
  Job job;
  std::mt19937 random(4);
  RemoteAnswer answer;
  job.client.read(stream_of(1), 0, 1000, 30);
  ASSERT_TRUE(job.next(answer));
  EXPECT_TRUE(answer.absent);
  EXPECT_TRUE(answer.run.empty());
  std::uint64_t id = job.client.read(stream_of(1), 0, 1000, 5000);
  EXPECT_FALSE(job.next(answer, 30));
  FakeRank& rank = job.provider.add(1, 0);
  EXPECT_FALSE(job.next(answer, 30));
  rank.append(random, 0, 10);
  EXPECT_FALSE(job.next(answer, 30));  // not published
  rank.writer.publish(0);
  ASSERT_TRUE(job.next(answer, 1000));
  EXPECT_EQ(answer.id, id);
  EXPECT_EQ(answer.run.size(), 1u);
  // The end becomes final while it is waited at.
  id = job.client.read(stream_of(1), answer.next, 1000, 5000);
  EXPECT_FALSE(job.next(answer, 30));
  rank.is_final = true;
  ASSERT_TRUE(job.next(answer, 1000));
  EXPECT_EQ(answer.id, id);
  EXPECT_TRUE(answer.is_final && answer.run.empty() && answer.next == answer.published);
}

// A record that its sender may still publish, one that it never will, one that is there, and a place where none begins.
TEST(LogService, TellsWhetherARecordMayStillCome) {
  Job job;
  std::mt19937 random(7);
  FakeRank& rank = job.provider.add(1, 0);
  rank.append(random, 0, 5000);
  rank.writer.publish(0);
  rank.append(random, 0, 5000);
  const auto there = rank.sent[0][0], coming = rank.sent[0][1];
  auto asked = [&job](std::uint64_t position, segment::ChunkId chunk) {
    RemoteAnswer answer;
    job.client.fetch(stream_of(1), position, chunk, 0, 5000);
    EXPECT_TRUE(job.next(answer) && answer.last);
    return std::array{answer.absent, answer.is_final, answer.damaged};
  };
  const std::array found{false, false, false}, later{true, false, false}, never{true, true, false}, damaged{false, false, true};
  EXPECT_EQ(asked(there.header.position, there.chunk), found);
  EXPECT_EQ(asked(coming.header.position, coming.chunk), later);
  EXPECT_EQ(asked(there.header.position + 64, there.chunk), damaged);
  rank.is_final = true;
  EXPECT_EQ(asked(coming.header.position, coming.chunk), never);
  EXPECT_EQ(asked(there.header.position, there.chunk), found);
}

TEST(LogService, ManyQuestionsAtOnceAndCancelledOnes) {
  Job job;
  std::mt19937 random(5);
  FakeRank& rank = job.provider.add(3, 0);
  for (int destination = 0; destination < ranks; ++destination) {
    for (int i = 0; i < 300; ++i) rank.append(random, destination, random_size(random) / 20);
    rank.writer.publish(destination);
  }
  std::map<std::uint64_t, int> open;
  std::vector<std::uint64_t> cancelled;
  for (int i = 0; i < 2000; ++i) {
    int destination = static_cast<int>(random() % ranks);
    const auto& record = rank.sent[destination][random() % 300];
    RemoteStream stream = stream_of(3, 0, destination);
    std::uint64_t id;
    if (i % 2 || record.payload.empty())
      id = job.client.read(stream, record.header.position, 5000, 0);
    else
      id = job.client.fetch(stream, record.header.position, record.chunk, 0, record.payload.size());
    if (random() % 5) open[id] = destination;
    else cancelled.push_back(id);
    if (cancelled.size() > 3) job.client.cancel(cancelled.back()), cancelled.pop_back();
  }
  for (std::uint64_t id : cancelled) job.client.cancel(id);
  RemoteAnswer answer;
  while (!open.empty()) {
    ASSERT_TRUE(job.next(answer));
    ASSERT_EQ(open.count(answer.id), 1u);
    EXPECT_FALSE(answer.damaged || answer.absent);
    if (answer.kind == RemoteAnswer::records || answer.last) open.erase(answer.id);
  }
  EXPECT_FALSE(job.next(answer, 20));
  EXPECT_TRUE(job.client.idle());
}

TEST(LogService, WrongQuestionsGetAnAnswer) {
  Job job;
  std::mt19937 random(6);
  FakeRank& rank = job.provider.add(1, 0);
  for (int i = 0; i < 100; ++i) rank.append(random, 0, random_size(random));
  rank.writer.publish(0);
  RemoteAnswer answer;
  for (int i = 0; i < 2000; ++i) {
    RemoteStream stream = stream_of(random() % 3 ? 1 : static_cast<int>(random()), random() % 3 ? 0 : random(),
                                    random() % 3 ? 0 : static_cast<int>(random()));
    std::uint64_t somewhere = random() % 2 ? random() % 100'000 : random() * 0x100000001ull;
    std::uint64_t id = random() % 2 ? job.client.read(stream, somewhere, random(), 0)
                                    : job.client.fetch(stream, somewhere, static_cast<segment::ChunkId>(random() % 200),
                                                       random() % 1000, 1 + random() % 1'000'000);
    do {
      ASSERT_TRUE(job.next(answer));
      ASSERT_EQ(answer.id, id);
    } while (answer.kind == RemoteAnswer::bytes && !answer.last);
  }
}

TEST(LogService, DamagedLogsAreCalledDamaged) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Job job;
    FakeRank& rank = job.provider.add(1, 0);
    for (int i = 0; i < 60; ++i) rank.append(random, 0, random() % 2000);
    rank.writer.publish(0);
    rank.is_final = true;
    auto* bytes = rank.segments[0].get();
    for (int i = 0; i < 200; ++i) bytes[random() % (12 * segment::chunk_bytes)] ^= static_cast<std::byte>(1 + random() % 255);
    std::uint64_t position = 0;
    for (RemoteAnswer answer;;) {
      job.client.read(stream_of(1), position, 1 << 20, 0);
      ASSERT_TRUE(job.next(answer));
      if (answer.damaged || answer.next == answer.published) break;
      ASSERT_GT(answer.next, position);
      position = answer.next;
    }
  }
}

TEST(LogService, RefusesStrangersAndSaysSoOnce) {
  Job job;
  for (int i = 0; i < 3; ++i) {
    RemoteLog foreign(Rank{0}, Incarnation{0}, ranks, key_of(8));
    foreign.agent(node, loopback, job.port);
    foreign.read(stream_of(1), 0, 0, 0);
    for (int step = 0; step < 20; ++step) {
      RemoteAnswer answer;
      EXPECT_FALSE(foreign.poll(answer));
      job.server->poll();
      ::poll(nullptr, 0, 1);
    }
  }
  std::string line;
  ASSERT_TRUE(job.server->poll_report(line));
  EXPECT_NE(line.find("127.0.0.1"), std::string::npos);
  EXPECT_FALSE(job.server->poll_report(line));
}

// A rank of the job that talks nonsense: random bytes, or questions cut off or mutated.
TEST(LogService, ServerSurvivesAnyBytes) {
  Job job;
  std::mt19937 setup(1);
  FakeRank& rank = job.provider.add(1, 0);
  for (int i = 0; i < 50; ++i) rank.append(setup, 0, random_size(setup));
  rank.writer.publish(0);
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    int fd = rail::tcp::dial({loopback, job.port});
    {
      rail::tcp::Stream stream(fd);
      rail::tcp::Introduction introduction{.target = node.value};
      auto handshake = rail::tcp::Handshake::dial(key_of(7), rail::tcp::Purpose::log, rail::tcp::fresh_nonce(), introduction);
      bool greet = seed % 4 != 0;
      for (int i = 0; greet && i < 2000 && handshake.state() == rail::tcp::Handshake::State::talking; ++i) {
        stream.talk(handshake);
        job.server->poll();
      }
      ASSERT_TRUE(!greet || handshake.state() == rail::tcp::Handshake::State::done);
      Octets bytes;
      ByteWriter writer(bytes);
      for (unsigned i = random() % 5; i > 0; --i) {
        writer.put(wire::LogMessage{wire::LogMessageKind::read, sizeof(wire::ReadRequest), i});
        writer.put(wire::ReadRequest{.source = 1, .answer_bytes = 1 << 18, .payload_bytes = 1 << 20, .wait_ms = 3});
      }
      writer.put_bytes(random_bytes(random, random() % 100));
      for (unsigned i = random() % 4; i > 0; --i) bytes[random() % bytes.size()] ^= static_cast<std::byte>(random());
      if (!bytes.empty()) ::send(fd, bytes.data(), random() % bytes.size() + 1, MSG_NOSIGNAL);
      for (int i = 0; i < 5; ++i) job.server->poll();
    }
    job.server->poll();
  }
  job.client.read(stream_of(1), 0, 0, 0);
  RemoteAnswer answer;
  ASSERT_TRUE(job.next(answer));
  EXPECT_EQ(answer.run.size(), 50u);
}

// An agent that answers nonsense: the client says `damaged` at worst, and asks again when the connection is lost.
TEST(LogService, ClientSurvivesAnyAnswer) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::uint16_t port = 0;
    int listener = *rail::tcp::listen_on(loopback, port);
    RemoteLog client(Rank{0}, Incarnation{0}, ranks, key_of(7));
    client.agent(node, loopback, port);
    std::uint64_t id = seed % 2 ? client.read(stream_of(1), 0, 1000, 0) : client.fetch(stream_of(1), 0, 0, 0, 100);
    RemoteAnswer answer;
    bool answered = false;
    for (int round = 0; round < 3 && !answered; ++round) {
      int fd = -1;
      for (int i = 0; i < 1000 && fd < 0; ++i) {
        rail::tcp::Endpoint from;
        client.poll(answer);
        fd = rail::tcp::accept_from(listener, from);
        if (fd < 0) ::poll(nullptr, 0, 1);
      }
      ASSERT_GE(fd, 0);
      rail::tcp::Stream stream(fd);
      auto handshake = rail::tcp::Handshake::accept(key_of(7), rail::tcp::Purpose::log, rail::tcp::fresh_nonce());
      for (int i = 0; i < 2000 && handshake.state() == rail::tcp::Handshake::State::talking; ++i) {
        stream.talk(handshake);
        client.poll(answer);
      }
      ASSERT_EQ(handshake.state(), rail::tcp::Handshake::State::proven);
      handshake.answer(rail::tcp::Verdict::accepted, 0, {.rank = node.value});
      stream.talk(handshake);
      Octets bytes;
      ByteWriter writer(bytes);
      wire::FrameHeader header{.kind = wire::FrameKind::eager, .source = 1, .length = 10};
      header.check = wire::fold(header);
      if (seed % 2) {
        writer.put(wire::LogMessage{wire::LogMessageKind::records, 24 + 64 + 10, id});
        writer.put(wire::RecordsAnswer{.next = 128, .published = 128, .record_count = 1});
        writer.put(wire::RecordEntry{.header = header, .payload_bytes = 10});
        writer.put_bytes(random_bytes(random, 10));
      } else {
        writer.put(wire::LogMessage{wire::LogMessageKind::bytes, 16 + 100, id});
        writer.put(wire::BytesAnswer{.length = 100});
        writer.put_bytes(random_bytes(random, 100));
      }
      if (round == 0)
        for (unsigned i = random() % 4; i > 0; --i) bytes[random() % bytes.size()] ^= static_cast<std::byte>(random());
      std::size_t cut = round == 0 && random() % 2 ? random() % bytes.size() : bytes.size();
      ::send(fd, bytes.data(), cut, MSG_NOSIGNAL);
      for (int i = 0; i < 20 && !answered; ++i) answered = client.poll(answer);
    }
    EXPECT_TRUE(answered);
    EXPECT_EQ(answer.id, id);
    ::close(listener);
  }
}

}  // namespace
}  // namespace hf::daemon
