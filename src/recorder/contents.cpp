#include "recorder/contents.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/kept.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

constexpr std::int64_t block_bytes = 8 << 10, blocks = 32;  // of files that are larger than those that are kept

std::uint64_t add(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return sum ^ sum >> 32;
}

// Of whole words, the last one filled up with zeros.
std::uint64_t add_block(std::uint64_t sum, int fd, std::int64_t at) {
  alignas(8) char bytes[block_bytes];
  const long got = ::syscall(SYS_pread64, fd, bytes, sizeof bytes, at);
  if (got <= 0) return sum;
  const long whole = (got + 7) / 8 * 8;
  memset(bytes + got, 0, static_cast<std::size_t>(whole - got));
  for (long i = 0; i < whole; i += 8) {
    std::uint64_t word;
    memcpy(&word, bytes + i, sizeof word);
    sum = add(sum, word);
  }
  return sum;
}

// The first and the last block are among them.
std::uint64_t sum_of(int fd, std::int64_t size) {
  const std::int64_t last = size > block_bytes ? size - block_bytes : 0;
  std::uint64_t sum = static_cast<std::uint64_t>(size);
  if (size <= kept_file_bytes_max) {
    for (std::int64_t at = 0; at < size; at += block_bytes) sum = add_block(sum, fd, at);
    return sum;
  }
  const std::int64_t step = last / (blocks - 1);
  for (std::int64_t i = 0; i < blocks; ++i) sum = add_block(sum, fd, i == blocks - 1 ? last : i * step);
  return sum;
}

}  // namespace

FileState dates_of(const char* path) {
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, 0) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

FileState contents_of(const char* path) {
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, 0) != 0) return {};
  const auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (fd < 0) return {status.st_size, 0};
  if (system_status(fd, "", &status, AT_EMPTY_PATH) != 0) status.st_size = 0;
  const FileState contents{status.st_size, static_cast<std::int64_t>(sum_of(fd, status.st_size))};
  ::syscall(SYS_close, fd);
  return contents;
}

}  // namespace hf::recorder
