// Two processes move messages in each of the ways in which ranks do, taking turns; of several samples the fastest counts, since
// other load only slows them down.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/streaming_copy.hpp"
#include "daemon/message_ways.hpp"
#include "os/clock.hpp"
#include "os/process_memory.hpp"
#include "segment/joint_copy.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint64_t sample_bytes = 1 << 20;
// A log is written from end to end: its lines are in no cache, its pages new to its reader.
constexpr std::uint64_t log_bytes = 4 << 20;
constexpr int samples = 4;
constexpr std::int64_t patience_ns = 60'000'000;
constexpr std::uint64_t ring_block = 8 << 10, ring_blocks = 8;  // as rail/shm/ring.hpp

enum class Way : std::uint32_t { direct, direct_logged, copied };
constexpr std::uint32_t end_round = UINT32_MAX;

// Between the two; each word has one writer and a line of its own.
struct Shared {
  alignas(64) std::atomic<std::uint32_t> round{0};
  Way way{};
  std::uint64_t message = 0;                 // bytes of one
  std::byte* into = nullptr;                 // way `direct`: where the sender writes the second half of each message; null: the receiver reads all
  std::uint64_t begin = 0;                   // where in `area`
  std::uint64_t block = 0, blocks_kept = 0;  // of the way `copied`: what is copied at a time, and how many of them there is room for
  alignas(64) std::atomic<std::uint64_t> made{0};
  alignas(64) std::atomic<std::uint64_t> taken{0};
  alignas(64) std::atomic<std::uint32_t> ended{0};  // the last round of which the sender has done its part
  bool written = false;                             // and whether it could write
  alignas(4096) std::byte area[log_bytes];
};

std::int64_t now_ns() { return os::now().value; }

void forget(std::byte* memory, std::uint64_t bytes) {
#ifdef __SSE2__
  for (std::uint64_t at = 0; at < bytes; at += 64) _mm_clflush(memory + at);
  _mm_mfence();
#endif
  ::madvise(memory, bytes, MADV_DONTNEED);
}

// Spins. False: it is too late.
template <class Done>
bool wait_for(Done&& done, std::int64_t until) {
  for (unsigned i = 1; !done(); ++i) {
    if (i % 256 == 0 && now_ns() > until) return false;
  }
  return true;
}

// As ranks do: engine/joint_copy.cpp.
bool write_second_halves(const Shared& s, const std::byte* source) {
  const std::uint64_t half = s.message / 2;
  for (std::uint64_t at = half; at < sample_bytes; at += s.message) {
    iovec local{const_cast<std::byte*>(source) + at, half}, remote{s.into + at, half};
    if (::process_vm_writev(::getppid(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(half)) return false;
  }
  return true;
}

bool send(Shared& s, const std::byte* source, std::int64_t until) {
  if (s.into) s.written = write_second_halves(s, source);
  if (s.way == Way::direct_logged) {
    streaming_copy(s.area + s.begin, source, sample_bytes);
    fence_streamed();
  }
  if (s.way != Way::copied) return true;
  for (std::uint64_t b = 0; b < sample_bytes / s.block; ++b) {
    if (!wait_for([&] { return b - s.taken.load(std::memory_order_acquire) < s.blocks_kept; }, until)) return false;
    std::memcpy(s.area + s.begin + b % s.blocks_kept * s.block, source + b * s.block, s.block);
    s.made.store(b + 1, std::memory_order_release);
  }
  return true;
}

[[noreturn]] void run_sender(Shared& s, std::byte* source, bool logging, std::int64_t until) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  os::allow_memory_access();
  std::memset(source, 1, sample_bytes);
  ::madvise(s.area, logging ? log_bytes : ring_block * ring_blocks, MADV_POPULATE_WRITE);
  for (std::uint32_t round = 1;; ++round) {
    if (!wait_for([&] { return s.round.load(std::memory_order_acquire) >= round; }, until)) ::_exit(1);
    if (s.round.load() == end_round || !send(s, source, until)) ::_exit(0);
    s.ended.store(round, std::memory_order_release);
  }
}

class Receiver {
 public:
  Receiver(Shared& shared, std::byte* memory, const std::byte* source, pid_t sender, std::int64_t until)
      : s_(shared), memory_(memory), source_(source), sender_(sender), until_(until) {}

  // ns of a sample in messages of so many bytes; 0: it cannot be done this way; negative: too late.
  std::int64_t sample(Way way, std::uint64_t bytes, bool through_log) {
    const bool shares = way == Way::direct && bytes >= segment::joint_bytes_min;
    s_.way = way;
    s_.message = bytes;
    s_.into = shares ? memory_ : nullptr;
    if (through_log) s_.begin = (s_.begin + sample_bytes) % log_bytes;
    if (through_log) forget(s_.area + s_.begin, sample_bytes);
    s_.block = through_log ? bytes : ring_block;
    s_.blocks_kept = through_log ? sample_bytes / bytes : ring_blocks;
    s_.made.store(0);
    s_.taken.store(0);
    const std::int64_t start = now_ns();
    s_.round.store(++round_, std::memory_order_release);
    int moved = way == Way::copied ? take_copies() : read_messages(bytes, 0, shares ? bytes / 2 : bytes);
    if (!wait_for([&] { return s_.ended.load(std::memory_order_acquire) == round_; }, until_) || moved < 0) return -1;
    if (moved != 0 && shares && !s_.written) moved = read_messages(bytes, bytes / 2, bytes / 2);
    return moved == 0 ? 0 : now_ns() - start;
  }

 private:
  int take_copies() {
    for (std::uint64_t b = 0; b < sample_bytes / s_.block; ++b) {
      if (!wait_for([&] { return s_.made.load(std::memory_order_acquire) > b; }, until_)) return -1;
      std::memcpy(memory_ + b * s_.block, s_.area + s_.begin + b % s_.blocks_kept * s_.block, s_.block);
      s_.taken.store(b + 1, std::memory_order_release);
    }
    return 1;
  }
  // Of each message so many bytes, from `begin` on.
  int read_messages(std::uint64_t message, std::uint64_t begin, std::uint64_t bytes) const {
    for (std::uint64_t at = begin; at < sample_bytes; at += message) {
      iovec local{memory_ + at, bytes}, remote{const_cast<std::byte*>(source_) + at, bytes};
      if (::process_vm_readv(sender_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes)) return 0;
    }
    return 1;
  }

  Shared& s_;
  std::byte* memory_;
  const std::byte* source_;
  pid_t sender_;
  std::int64_t until_;
  std::uint32_t round_ = 0;
};

bool fastest_of_all(Receiver& receiver, bool logging, WayRates& rates) {
  const std::array ways{logging ? Way::direct_logged : Way::direct, Way::copied};
  std::array<std::array<double, way_sizes.size()>*, 2> best{&rates.direct, &rates.copied};
  for (int sample = 0; sample < samples; ++sample) {
    for (std::size_t size = 0; size < way_sizes.size(); ++size) {
      for (std::size_t way = 0; way < ways.size(); ++way) {
        std::int64_t ns = receiver.sample(ways[way], way_sizes[size], logging);
        if (ns < 0) return false;
        if (ns > 0) (*best[way])[size] = std::max((*best[way])[size], static_cast<double>(sample_bytes) / static_cast<double>(ns));
      }
    }
  }
  return true;
}

struct Unmap {
  void operator()(Shared* shared) const { ::munmap(shared, sizeof(Shared)); }
};

}  // namespace

std::optional<WayRates> measure_ways(wire::Protocol protocol) {
  void* mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  std::unique_ptr<Shared, Unmap> shared(new (mapped) Shared);
  const bool logging = protocol != wire::Protocol::none;
  std::vector<std::byte> source(sample_bytes, std::byte{1}), memory(sample_bytes, std::byte{2});
  const std::int64_t until = now_ns() + patience_ns;
  pid_t sender = ::fork();
  if (sender < 0) return {};
  if (sender == 0) run_sender(*shared, source.data(), logging, until);
  ::prctl(PR_SET_PTRACER, sender, 0, 0, 0);  // it may write here, where the kernel restricts that
  Receiver receiver(*shared, memory.data(), source.data(), sender, until);
  WayRates rates;
  bool measured = fastest_of_all(receiver, logging, rates);
  ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  shared->round.store(end_round);
  ::kill(sender, SIGKILL);
  while (::waitpid(sender, nullptr, 0) < 0 && errno == EINTR) {
  }
  return measured ? std::optional(rates) : std::nullopt;
}

}  // namespace hf::daemon
