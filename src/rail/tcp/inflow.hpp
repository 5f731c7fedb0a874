// When to read a connection that only brings data. Whoever reads it as often as he can takes each small message alone, and holds the
// socket's lock while its sender's kernel wants it, also where it finds nothing: on loopback a message of 8 bytes costs 2.4 us so, and 2.0
// when the reader waits a little between two reads and takes what has come together. Answered messages are read as they come. Pure.
#pragma once
#include <algorithm>
#include <cstdint>

namespace hf::rail::tcp {

class Inflow {
 public:
  // Something was sent to the peer: what comes next may be the answer.
  void on_sent() { unanswered_ /= 2; }
  // The clock is asked, and the rest of this has a meaning, only from here on.
  bool one_way() const { return unanswered_ >= one_way_reads; }
  bool may_read(std::int64_t now) const { return close_ < close_reads || now - read_at_ >= pause_ns; }
  // `some`: it brought data.
  void on_read(bool some) { unanswered_ += some; }
  void on_read(bool some, std::int64_t now) {
    unanswered_ = std::min(unanswered_ + some, unanswered_max);
    read_at_ = now;
    if (now - data_at_ > close_ns) close_ = 0;
    if (!some) return;
    close_ = std::min(close_ + 1, close_reads);
    data_at_ = now;
  }

  static constexpr unsigned one_way_reads = 16, unanswered_max = 64;
  static constexpr int close_reads = 8;         // so many, each with data so soon after the one before
  static constexpr std::int64_t close_ns = 20'000, pause_ns = 4'000;

 private:
  unsigned unanswered_ = 0;
  int close_ = 0;
  std::int64_t read_at_ = 0, data_at_ = 0;
};

}  // namespace hf::rail::tcp
