// Shared memory without a name: memfd, and unlinked files on disk with the same use.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

// Zeroed; pages are allocated at first touch. `name` is seen in /proc/PID/maps only.
Result<UniqueFd> make_memory_file(const char* name, std::uint64_t bytes);
// An unlinked file in `directory`, its blocks allocated, as long as `reserve_bytes` stay free on the file system. An
// error of errno ENOSPC kind has an empty text.
Result<UniqueFd> make_disk_file(const std::string& directory, std::uint64_t bytes, std::uint64_t reserve_bytes);
Result<UniqueFd> reopen_read_only(int fd);
// Allocates the pages of a memory file, so that their first use is cheaper.
void touch(int fd, std::uint64_t offset, std::uint64_t bytes);
// The same for a file on disk, in whose place of the page cache a write makes larger pages than faults do: what is stored into a
// mapping afterwards is four times as fast. What cannot be written now is written by faults.
void write_zeros(int fd, std::uint64_t bytes);
// Frees the pages or blocks of a part of the file, which reads as zeros from then on; its size stays.
void give_back(int fd, std::uint64_t offset, std::uint64_t bytes);
std::uint64_t physical_memory_bytes();

}  // namespace hf::os
