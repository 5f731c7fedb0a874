#include "os/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "os/error_text.hpp"

namespace hf::os {

Result<UniqueFd> make_memory_file(const char* name, std::uint64_t bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return fail(fmt::format("cannot make {} bytes of shared memory: {}", bytes, error_text(errno)));
  }
  return fd;
}

Result<UniqueFd> make_disk_file(const std::string& directory, std::uint64_t bytes, std::uint64_t reserve_bytes) {
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) {
    return fail(fmt::format("cannot use the log directory {}: {}", directory, error_text(errno)));
  }
  if (std::uint64_t{space.f_bavail} * space.f_frsize < bytes + reserve_bytes) return fail("");
  UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    std::string path = directory + "/holdfast-log-XXXXXX";
    fd.reset(::mkostemp(path.data(), O_CLOEXEC));
    if (fd) ::unlink(path.c_str());
  }
  if (!fd) return fail(fmt::format("cannot make a file in the log directory {}: {}", directory, error_text(errno)));
  int code = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) return fail("");
  if (code != 0)
    return fail(fmt::format("cannot extend a file in the log directory {}: {}", directory, error_text(code)));
  return fd;
}

Result<UniqueFd> reopen_read_only(int fd) {
  UniqueFd out(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!out) return fail(fmt::format("cannot reopen shared memory: {}", error_text(errno)));
  return out;
}

void give_back(int fd, std::uint64_t offset, std::uint64_t bytes) {
  // A file system that cannot make holes keeps the blocks: nothing is lost by it but room.
  (void)::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

// Not by mapping: that holds the address space's lock, for which another thread waits that wants to fork.
void touch(int fd, std::uint64_t offset, std::uint64_t bytes) {
  [[maybe_unused]] int done = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void write_zeros(int fd, std::uint64_t bytes) {
  static const std::array<std::byte, 1 << 20> zeros{};
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    std::uint64_t n = std::min<std::uint64_t>(zeros.size(), bytes - at);
    if (::pwrite(fd, zeros.data(), n, static_cast<off_t>(at)) != static_cast<ssize_t>(n)) return;
  }
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace hf::os
