// The greeting of TCP connections, both sides: no input may be taken for a peer's but the recorded proper one.
#include "rail/tcp/handshake.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

using rail::tcp::Handshake;
using State = Handshake::State;
const rail::tcp::Nonce dialler_nonce{std::byte{1}}, acceptor_nonce{std::byte{2}};

Handshake make(bool dialler) {
  rail::tcp::Introduction introduction{.opening = {.rank = 1}, .target = 2, .dial = 3};
  return dialler ? Handshake::dial({}, rail::tcp::Purpose::rail, dialler_nonce, introduction)
                 : Handshake::accept({}, rail::tcp::Purpose::rail, acceptor_nonce);
}

bool move(Handshake& from, Handshake& to, Octets& said) {
  Bytes out = from.output().first(std::min(from.output().size(), to.room().size()));
  if (out.empty()) return false;
  std::copy(out.begin(), out.end(), to.room().begin());
  said.insert(said.end(), out.begin(), out.end());
  from.sent(out.size());
  to.received(out.size());
  return true;
}

// What each says to the other: [0] the acceptor to the dialler.
std::array<Octets, 2> conversation() {
  std::array<Octets, 2> said;
  Handshake d = make(true), a = make(false);
  while (move(d, a, said[1]) || move(a, d, said[0])) {
  }
  a.answer(rail::tcp::Verdict::accepted, 0, {.rank = 2});
  move(a, d, said[0]);
  HF_CHECK(d.state() == State::done);
  return said;
}

}  // namespace

Octets sample(Random& random) {
  static const auto said = conversation();
  std::uint64_t side = random() % 2;
  Octets input;
  ByteWriter writer(input);
  writer.put(static_cast<std::byte>(side));
  writer.put_bytes(said[side]);
  return input;
}

void take(Bytes input) {
  if (input.empty()) return;
  static const auto said = conversation();
  bool dialler = (input[0] & std::byte{1}) == std::byte{0};
  Handshake h = make(dialler);
  Bytes rest = input.subspan(1);
  const Octets& proper = said[dialler ? 0 : 1];
  bool is_proper = rest.size() >= proper.size() && std::equal(proper.begin(), proper.end(), rest.begin());
  while (!rest.empty() && !h.room().empty()) {
    std::size_t n = std::min({rest.size(), h.room().size(), std::size_t{13}});
    std::copy_n(rest.begin(), n, h.room().begin());
    h.received(n);
    rest = rest.subspan(n);
    h.sent(h.output().size());
  }
  if (is_proper) HF_CHECK(h.state() == (dialler ? State::done : State::proven));
  // Reserved fields of a Hello and an Answer are the only bytes that are free.
  if (h.state() == State::done) HF_CHECK(h.opening().rank == 2);
  if (h.state() == State::proven) HF_CHECK(h.introduction().target == 2 && h.introduction().dial == 3);
}

}  // namespace hf::fuzz
