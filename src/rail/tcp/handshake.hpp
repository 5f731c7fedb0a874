// How two processes of a job recognise each other on a fresh TCP connection, as a pure state machine: bytes in, bytes
// out. docs/tcp.md has the grammar. Four messages of fixed size:
//
//   dialler  -> acceptor  Hello      nonce of the dialler
//   acceptor -> dialler   Challenge  nonce of the acceptor
//   dialler  -> acceptor  Proof      Introduction, keyed hash over (purpose, both nonces, Introduction)
//   acceptor -> dialler   Answer     Verdict, last own dial, Opening, keyed hash over (purpose, both nonces, the Proof's
//                                    hash, the rest)
//
// The hash is HMAC-SHA512-256 (libsodium crypto_auth) with the job's key; the role is part of what is hashed, so that
// nothing said by one side can be said back to it, and both nonces are, so that nothing recorded is of use later.
//
// The reader never takes a byte beyond the handshake: room() is as long as what is missing of the next message.
#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.hpp"
#include "wire/frame.hpp"

namespace hf::rail::tcp {

using Key = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;

enum class Purpose : std::uint32_t { rail = 1, log = 2 };
enum class Verdict : std::uint32_t {
  accepted = 1,
  yield,    // the acceptor's own dial to the dialler is under way and wins: wait for it
  stale,    // an incarnation in the Introduction is not the newest, or the dial is not the dialler's last
  refused,  // not for this process, or not wanted
};

// What a dialler says about itself and the connection.
struct Introduction {
  wire::Opening opening;
  std::int32_t target = 0;  // rank (or node) that it wants to talk to
  std::uint32_t reserved = 0;
  std::uint64_t dial = 0;  // n-th dial of this incarnation, from 1: of two, the later one counts
};
static_assert(sizeof(Introduction) == 40);

class Handshake {
 public:
  enum class State {
    talking,
    proven,    // acceptor: introduction() is authentic; call answer()
    done,      // dialler: the Answer is authentic: verdict() and opening() are valid. acceptor: answered
    stranger,  // the other side does not know the key, or does not speak this protocol
  };

  // Nonces must be fresh random bytes. The key is copied.
  static Handshake dial(const Key& key, Purpose purpose, const Nonce& nonce, const Introduction& introduction);
  static Handshake accept(const Key& key, Purpose purpose, const Nonce& nonce);

  State state() const { return state_; }
  bool heard_hello() const { return phase_ != Phase::hello; }  // acceptor: the first message was well-formed

  Bytes output() const { return Bytes(out_).subspan(out_begin_, out_end_ - out_begin_); }
  void sent(std::size_t n) { out_begin_ += n; }

  MutableBytes room() { return MutableBytes(in_).subspan(in_have_, in_want_ - in_have_); }  // empty: nothing expected
  void received(std::size_t n);

  const Introduction& introduction() const { return introduction_; }
  // `last_dial`: the number of the acceptor's own last dial; accepting voids it and all before, also those whose Proof
  // is still on its way.
  void answer(Verdict verdict, std::uint64_t last_dial, const wire::Opening& own);

  Verdict verdict() const { return verdict_; }
  const wire::Opening& opening() const { return opening_; }  // dialler: the acceptor's
  std::uint64_t last_dial() const { return last_dial_; }     // dialler: the acceptor's

 private:
  enum class Phase { hello, challenge, proof, answer, over };  // what is expected next
  using Mac = std::array<std::byte, 32>;

  Handshake(const Key& key, Purpose purpose, const Nonce& nonce) : key_(key), purpose_(purpose), own_nonce_(nonce) {}
  void expect(Phase phase);
  void on_message();
  Mac proof_mac() const;
  Mac answer_mac(const Mac& proof) const;
  template <class T>
  void say(const T& message);
  template <class T>
  T heard() const;

  Key key_;
  Purpose purpose_;
  Nonce own_nonce_, peer_nonce_{};
  bool dialler_ = false;
  Phase phase_ = Phase::over;
  State state_ = State::talking;
  Introduction introduction_;
  Mac proof_{};
  Verdict verdict_ = Verdict::refused;
  std::uint64_t last_dial_ = 0;
  wire::Opening opening_;
  std::array<std::byte, 96> in_{}, out_{};
  std::size_t in_have_ = 0, in_want_ = 0, out_begin_ = 0, out_end_ = 0;
};

}  // namespace hf::rail::tcp
