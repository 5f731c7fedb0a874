#include "rail/tcp/handshake.hpp"

#include <sodium.h>

#include <algorithm>

#include "base/check.hpp"

namespace hf::rail::tcp {
namespace {

constexpr std::uint64_t hello_magic = 0x314f4c4c45484648;      // "HFHELLO1"
constexpr std::uint64_t challenge_magic = 0x3145474e43484648;  // "HFHCNGE1": never equal to a hello, which may come
                                                               // back when a socket is connected to itself
using Mac = std::array<std::byte, 32>;
static_assert(crypto_auth_BYTES == 32 && crypto_auth_KEYBYTES == 32);

struct Hello {
  std::uint64_t magic = hello_magic;
  Purpose purpose{};
  std::uint32_t reserved = 0;
  Nonce nonce{};
};
struct Challenge {
  std::uint64_t magic = challenge_magic;
  Nonce nonce{};
};
struct Proof {
  Introduction introduction;
  Mac mac{};
};
struct Answer {
  Verdict verdict{};
  std::uint32_t reserved = 0;
  std::uint64_t last_dial = 0;
  wire::Opening opening;
  Mac mac{};
};
static_assert(sizeof(Hello) == 48 && sizeof(Challenge) == 40 && sizeof(Proof) == 72 && sizeof(Answer) == 72);

template <class... Parts>
Mac authenticate(const Key& key, const Parts&... parts) {
  std::array<unsigned char, 256> text{};
  std::size_t n = 0;
  static_assert((sizeof(Parts) + ...) <= sizeof(text));
  ((std::memcpy(text.data() + n, &parts, sizeof(parts)), n += sizeof(parts)), ...);
  Mac mac;
  crypto_auth(reinterpret_cast<unsigned char*>(mac.data()), text.data(), n,
              reinterpret_cast<const unsigned char*>(key.data()));
  return mac;
}

bool same(const Mac& a, const Mac& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

constexpr std::uint64_t dialler_role = 0x3152454c4c414944;   // "DIALLER1"
constexpr std::uint64_t acceptor_role = 0x3154504543434148;  // "HACCEPT1"

}  // namespace

Handshake Handshake::dial(const Key& key, Purpose purpose, const Nonce& nonce, const Introduction& introduction) {
  Handshake h(key, purpose, nonce);
  h.dialler_ = true;
  h.introduction_ = introduction;
  h.say(Hello{.purpose = purpose, .nonce = nonce});
  h.expect(Phase::challenge);
  return h;
}

Handshake Handshake::accept(const Key& key, Purpose purpose, const Nonce& nonce) {
  Handshake h(key, purpose, nonce);
  h.expect(Phase::hello);
  return h;
}

template <class T>
void Handshake::say(const T& message) {
  static_assert(sizeof(T) <= sizeof(out_));
  std::size_t left = out_end_ - out_begin_;
  HF_CHECK(left + sizeof(T) <= out_.size());
  std::memmove(out_.data(), out_.data() + out_begin_, left);
  std::memcpy(out_.data() + left, &message, sizeof(T));
  out_begin_ = 0;
  out_end_ = left + sizeof(T);
}

template <class T>
T Handshake::heard() const {
  T message;
  std::memcpy(&message, in_.data(), sizeof(T));
  return message;
}

void Handshake::expect(Phase phase) {
  phase_ = phase;
  in_have_ = 0;
  switch (phase) {
    case Phase::hello: in_want_ = sizeof(Hello); break;
    case Phase::challenge: in_want_ = sizeof(Challenge); break;
    case Phase::proof: in_want_ = sizeof(Proof); break;
    case Phase::answer: in_want_ = sizeof(Answer); break;
    case Phase::over: in_want_ = 0; break;
  }
}

void Handshake::received(std::size_t n) {
  HF_CHECK(n <= in_want_ - in_have_);
  in_have_ += n;
  // Wrong first bytes are enough to know a stranger: it may never send more.
  if (phase_ == Phase::hello || phase_ == Phase::challenge) {
    std::uint64_t magic = phase_ == Phase::hello ? hello_magic : challenge_magic;
    if (std::memcmp(in_.data(), &magic, std::min(in_have_, sizeof(magic))) != 0) {
      state_ = State::stranger;
      return expect(Phase::over);
    }
  }
  if (in_have_ == in_want_) on_message();
}

Handshake::Mac Handshake::proof_mac() const {
  const Nonce& dialler = dialler_ ? own_nonce_ : peer_nonce_;
  const Nonce& acceptor = dialler_ ? peer_nonce_ : own_nonce_;
  return authenticate(key_, dialler_role, purpose_, dialler, acceptor, introduction_);
}

Handshake::Mac Handshake::answer_mac(const Mac& proof) const {
  const Nonce& dialler = dialler_ ? own_nonce_ : peer_nonce_;
  const Nonce& acceptor = dialler_ ? peer_nonce_ : own_nonce_;
  return authenticate(key_, acceptor_role, purpose_, dialler, acceptor, proof, verdict_, last_dial_, opening_);
}

void Handshake::on_message() {
  bool known = true;
  switch (phase_) {
    case Phase::hello: {
      Hello hello = heard<Hello>();
      if (hello.purpose != purpose_) {
        known = false;
        break;
      }
      peer_nonce_ = hello.nonce;
      say(Challenge{.nonce = own_nonce_});
      return expect(Phase::proof);
    }
    case Phase::challenge: {
      peer_nonce_ = heard<Challenge>().nonce;
      proof_ = proof_mac();
      say(Proof{.introduction = introduction_, .mac = proof_});
      return expect(Phase::answer);
    }
    case Phase::proof: {
      Proof proof = heard<Proof>();
      introduction_ = proof.introduction;
      proof_ = proof.mac;
      known = same(proof.mac, proof_mac());
      if (known) state_ = State::proven;
      break;
    }
    case Phase::answer: {
      Answer answer = heard<Answer>();
      verdict_ = answer.verdict;
      last_dial_ = answer.last_dial;
      opening_ = answer.opening;
      known = same(answer.mac, answer_mac(proof_)) && verdict_ >= Verdict::accepted && verdict_ <= Verdict::refused;
      if (known) state_ = State::done;
      break;
    }
    case Phase::over: break;
  }
  if (!known) state_ = State::stranger;
  expect(Phase::over);
}

void Handshake::answer(Verdict verdict, std::uint64_t last_dial, const wire::Opening& own) {
  HF_CHECK(state_ == State::proven);
  verdict_ = verdict;
  last_dial_ = last_dial;
  opening_ = own;
  say(Answer{.verdict = verdict, .last_dial = last_dial, .opening = own, .mac = answer_mac(proof_)});
  state_ = State::done;
}

}  // namespace hf::rail::tcp
