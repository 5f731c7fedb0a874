#include "rail/tcp/handshake.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hf::rail::tcp {
namespace {

using State = Handshake::State;
using Wire = std::vector<std::byte>;

Key uneven_key(int seed) {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(seed * 31 + static_cast<int>(i));
  return key;
}
Introduction introduction() {
  return {.opening = {.rank = 3, .incarnation = 1, .peer_incarnation = 2, .position = 4711}, .target = 5, .dial = 1};
}

// Moves at most `most` bytes and keeps a copy in `tape`.
bool move(Handshake& from, Handshake& to, std::size_t most = 1000, Wire* tape = nullptr) {
  std::size_t n = std::min({from.output().size(), to.room().size(), most});
  if (n == 0) return false;
  std::memcpy(to.room().data(), from.output().data(), n);
  if (tape) tape->insert(tape->end(), from.output().begin(), from.output().begin() + static_cast<std::ptrdiff_t>(n));
  from.sent(n);
  to.received(n);
  return true;
}

void feed(Handshake& to, Bytes bytes) {
  while (!bytes.empty() && !to.room().empty()) {
    std::size_t n = std::min(bytes.size(), to.room().size());
    std::memcpy(to.room().data(), bytes.data(), n);
    to.received(n);
    bytes = bytes.subspan(n);
  }
}

TEST(Handshake, JoinsTwoWhoKnowTheKey) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
    auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{2}});
    while (move(d, a, 1 + random() % 50) || move(a, d, 1 + random() % 50)) {
    }
    ASSERT_EQ(a.state(), State::proven);
    EXPECT_EQ(a.introduction().opening.position, 4711u);
    EXPECT_EQ(d.state(), State::talking);
    a.answer(Verdict::accepted, 1, {.rank = 5, .incarnation = 2, .peer_incarnation = 1, .position = 99});
    while (move(a, d, 1 + random() % 50)) {
    }
    ASSERT_EQ(d.state(), State::done);
    EXPECT_EQ(d.verdict(), Verdict::accepted);
    EXPECT_EQ(d.opening().position, 99u);
    EXPECT_TRUE(d.room().empty());
  }
}

TEST(Handshake, RefusesAnotherKey) {
  auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{}, introduction());
  auto a = Handshake::accept(uneven_key(2), Purpose::rail, Nonce{});
  while (move(d, a) || move(a, d)) {
  }
  EXPECT_EQ(a.state(), State::stranger);
}

TEST(Handshake, RefusesAnotherPurpose) {
  auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{}, introduction());
  auto a = Handshake::accept(uneven_key(1), Purpose::log, Nonce{});
  move(d, a);
  EXPECT_EQ(a.state(), State::stranger);
}

TEST(Handshake, RefusesARecording) {
  Wire tape;
  auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
  auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{2}});
  while (move(d, a, 1000, &tape) || move(a, d)) {
  }
  ASSERT_EQ(a.state(), State::proven);
  auto again = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{3}});
  feed(again, tape);
  EXPECT_EQ(again.state(), State::stranger);
}

TEST(Handshake, RefusesItsOwnWordsSaidBack) {
  auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
  Wire own(d.output().begin(), d.output().end());
  d.sent(own.size());
  feed(d, own);
  EXPECT_EQ(d.state(), State::stranger);
  // A challenge with the dialler's own nonce, and its proof said back as an answer.
  auto e = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
  auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{1}});
  move(e, a);
  move(a, e);
  Wire proof(e.output().begin(), e.output().end());
  feed(e, proof);
  EXPECT_EQ(e.state(), State::stranger);
}

TEST(Handshake, EveryByteOfProofAndAnswerCounts) {
  for (std::size_t at = 0;; ++at) {
    auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
    auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{2}});
    move(d, a);
    move(a, d);
    Wire proof(d.output().begin(), d.output().end());
    if (at >= proof.size()) break;
    proof[at] ^= std::byte{4};
    feed(a, proof);
    EXPECT_EQ(a.state(), State::stranger) << at;
  }
  for (std::size_t at = 0;; ++at) {
    auto d = Handshake::dial(uneven_key(1), Purpose::rail, Nonce{std::byte{1}}, introduction());
    auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{std::byte{2}});
    while (move(d, a) || move(a, d)) {
    }
    a.answer(Verdict::accepted, 1, {.rank = 5});
    Wire answer(a.output().begin(), a.output().end());
    if (at >= answer.size()) break;
    if (at >= 4 && at < 8) continue;  // reserved
    answer[at] ^= std::byte{4};
    feed(d, answer);
    EXPECT_EQ(d.state(), State::stranger) << at;
  }
}

TEST(Handshake, KnowsAStrangerByTheFirstByte) {
  auto a = Handshake::accept(uneven_key(1), Purpose::rail, Nonce{});
  std::byte get{'G'};
  feed(a, {&get, 1});
  EXPECT_EQ(a.state(), State::stranger);
}

}  // namespace
}  // namespace hf::rail::tcp
