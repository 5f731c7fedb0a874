// A buffer of the program that a receiver of the same node may read in place while it is being sent. The sender says so by a
// ticket in its control segment and takes the ticket back before the program may use the buffer again: what was read while
// the ticket stood is whole, else it is to be taken from the log. No shared word has two writers.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/streaming_copy.hpp"
#include "segment/control.hpp"

namespace hf::segment {

class Exposure {
 public:
  Exposure() = default;
  Exposure(std::uint64_t& word, std::uint64_t ticket) : word_(&word), ticket_(ticket) { store_release(word, ticket); }
  Exposure(Exposure&& other) noexcept : word_(std::exchange(other.word_, nullptr)), ticket_(other.ticket_) {}
  Exposure& operator=(Exposure&& other) noexcept {
    withdraw();
    word_ = std::exchange(other.word_, nullptr);
    ticket_ = other.ticket_;
    return *this;
  }
  ~Exposure() { withdraw(); }
  explicit operator bool() const { return word_ != nullptr; }
  std::uint64_t ticket() const { return ticket_; }
  void withdraw() {
    if (!word_) return;
    store_release(*std::exchange(word_, nullptr), std::uint64_t{0});
    std::atomic_thread_fence(std::memory_order_release);  // before anything that the program then stores
    fence_streamed();
  }

 private:
  std::uint64_t* word_ = nullptr;
  std::uint64_t ticket_ = 0;
};

// The tickets of one incarnation, which no other has had; each has its word until it is taken back.
class Exposures {
 public:
  // Empty: too many buffers are exposed.
  Exposure expose(ControlHeader& own) {
    for (std::size_t i = 0; i < exposure_count; ++i) {
      const std::uint64_t ticket = (std::uint64_t{own.incarnation} << 32) + ++last_;
      std::uint64_t& word = own.exposures[ticket % exposure_count];
      if (load_relaxed(word) == 0) return {word, ticket};
    }
    return {};
  }

 private:
  std::uint64_t last_ = 0;
};

// The reader's look, before and after it reads.
inline bool is_exposed(const ControlHeader& of, std::uint64_t ticket) {
  std::atomic_thread_fence(std::memory_order_acquire);
  return load_acquire(of.exposures[ticket % exposure_count]) == ticket;
}

}  // namespace hf::segment
