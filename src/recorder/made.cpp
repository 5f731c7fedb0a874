#include "recorder/made.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/looks.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

constexpr std::size_t made_max = 1 << 16, attempts_max = 64;
std::uint64_t made[made_max];  // hashes of which file each is; 0: free. Any thread adds

// Numbers of files are used again: the time at which it was made tells them apart. 0: the file system does not know it.
std::uint64_t hash_of(const struct statx& status) {
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  std::uint64_t hash = 14695981039346656037u;
  const auto seconds = static_cast<std::uint64_t>(status.stx_btime.tv_sec);
  for (const std::uint64_t part : {std::uint64_t{status.stx_dev_major}, std::uint64_t{status.stx_dev_minor}, std::uint64_t{status.stx_ino}, seconds,
                                   std::uint64_t{status.stx_btime.tv_nsec}}) {
    for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ (part >> shift & 0xff)) * 1099511628211u;
  }
  return hash == 0 ? 1 : hash;
}

void note(int directory, const char* path, int flags) {
  if (process.recording.is_first()) return;
  const int before = errno;
  struct statx status;
  const std::uint64_t hash = system_statx(directory, path, flags, STATX_INO | STATX_BTIME, &status) == 0 ? hash_of(status) : 0;
  errno = before;
  for (std::size_t i = 0; hash != 0 && i < attempts_max; ++i) {
    std::uint64_t there = 0;
    if (__atomic_compare_exchange_n(&made[(hash + i) % made_max], &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || there == hash) return;
  }
}

}  // namespace

void note_made(int directory, const char* path) { note(directory, path, AT_SYMLINK_NOFOLLOW); }
void note_made(int fd) { note(fd, "", AT_EMPTY_PATH); }

bool was_made(const struct statx& status) {
  const std::uint64_t hash = hash_of(status);
  for (std::size_t i = 0; hash != 0 && i < attempts_max; ++i) {
    const std::uint64_t there = __atomic_load_n(&made[(hash + i) % made_max], __ATOMIC_RELAXED);
    if (there == hash) return true;
    if (there == 0) return false;
  }
  return false;
}

bool has_had_children() {
  rusage used;
  if (::syscall(SYS_getrusage, RUSAGE_CHILDREN, &used) == 0 && used.ru_maxrss > 0) return true;
  siginfo_t unknown;
  return ::syscall(SYS_waitid, P_ALL, 0, &unknown, WEXITED | WNOHANG | WNOWAIT, nullptr) == 0;
}

}  // namespace hf::recorder
