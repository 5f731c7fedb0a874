// Reading and writing the memory of another process of this machine, of the same user: one copy and no other side at work
// (process_vm_readv, process_vm_writev). What was read counts only if alive() says so afterwards.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

// Random bytes at a known place in a process, by which another one makes sure that it reads the right process.
struct MemoryCookie {
  std::array<std::uint64_t, 2> value{};
};

// Lets any process of this user read and write this one's memory, where the kernel restricts it (Yama).
void allow_memory_access();
std::optional<MemoryCookie> random_cookie();  // empty: the kernel has none

class ProcessMemory {
 public:
  struct Piece {
    std::uint64_t address = 0;
    MutableBytes out;
  };
  static constexpr std::size_t pieces_max = 16;
  // False: it cannot be read: not permitted, another process id namespace, gone.
  bool open(pid_t pid, std::uint64_t cookie_address, const MemoryCookie& cookie);
  bool is_open() const { return static_cast<bool>(pidfd_); }
  void close() { pidfd_.reset(); }
  // False: not all of it could be read.
  bool read(std::uint64_t address, MutableBytes out) const;
  bool read_at_once(std::span<const Piece> pieces) const;  // at most pieces_max, in one call
  // False: not all of it could be written, or the process has ended. A process id is given out again after all others only (at least 32768
  // processes later), so that none begins under this one between the look at the pidfd and the call.
  bool write(std::uint64_t address, Bytes in) const;
  bool alive() const;  // false also when it is not open

 private:
  os::UniqueFd pidfd_;
  pid_t pid_ = 0;
};

}  // namespace hf::os
