// What the program has open of a file out of sight becomes the file itself, under the same numbers and addresses. docs/recorder.md, Files.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace hf::recorder {

bool is_mapped(int out_of_sight);
bool is_in_use(int out_of_sight);  // by a descriptor or a mapping of the program's
bool is_same_file(int fd, int other);
bool hand_over(int out_of_sight, const char* path);  // false: the file cannot be opened as the program has it open

inline int open_by_system(const char* path, int flags) { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666)); }
inline void close_by_system(int fd) { ::syscall(SYS_close, fd); }
std::int64_t size_of(int fd);  // negative: it is none
inline constexpr std::size_t piece_bytes = 64 << 10;  // read and compared at once
inline std::size_t bytes_of_piece(std::int64_t left) { return left < static_cast<std::int64_t>(piece_bytes) ? static_cast<std::size_t>(left) : piece_bytes; }
bool write_all(int fd, const std::byte* from, std::size_t bytes, std::int64_t at);

}  // namespace hf::recorder
