#include "recorder/handing_over.hpp"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

constexpr int descriptors_max = 4096;  // those above are left as they are

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// The program's descriptors of the file out of sight: each(fd), until it is false.
template <class Each>
bool each_descriptor(int out_of_sight, Each each) {
  struct stat status, of;
  if (system_status(out_of_sight, "", &status, AT_EMPTY_PATH) != 0) return false;
  for (int fd = 0; fd < descriptors_max; ++fd) {
    const bool it = fd != out_of_sight && system_status(fd, "", &of, AT_EMPTY_PATH) == 0 && is_same(of, status);
    if (it && !each(fd)) return false;
  }
  return true;
}

struct Mapping {
  std::uint64_t begin, end, offset, inode;
  int protection;
  bool shared, unnamed;
};

// A line of /proc/self/maps: begin-end rwxs offset device inode name.
Mapping mapping_of(const char* line) {
  char* at = nullptr;
  Mapping mapping{};
  mapping.begin = strtoull(line, &at, 16);
  mapping.end = strtoull(at + 1, &at, 16);
  if (strlen(at) < 6) return {};
  mapping.protection = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) | (at[3] == 'x' ? PROT_EXEC : 0);
  mapping.shared = at[4] == 's';
  mapping.offset = strtoull(at + 5, &at, 16);
  const char* device_end = strchr(at + 1, ' ');
  if (!device_end) return {};
  mapping.inode = strtoull(device_end, nullptr, 10);
  mapping.unnamed = strstr(device_end, "(deleted)") || strstr(device_end, "/.nfs");
  return mapping;
}

// The shared mappings of the file out of sight, which has no name: each(mapping), until it is false. Which device it is on is not compared: some file systems tell another one here.
template <class Each>
bool each_mapping(int out_of_sight, Each each) {
  struct stat status;
  const int fd = open_by_system("/proc/self/maps", O_RDONLY);
  if (fd < 0 || system_status(out_of_sight, "", &status, AT_EMPTY_PATH) != 0) return fd < 0;
  char text[8192];
  std::size_t have = 0;
  bool goes_on = true;
  for (long got; goes_on && (got = ::syscall(SYS_read, fd, text + have, sizeof text - 1 - have)) > 0;) {
    have += static_cast<std::size_t>(got);
    text[have] = 0;
    char* line = text;
    for (char* end; goes_on && (end = strchr(line, '\n')); line = end + 1) {
      *end = 0;
      const Mapping mapping = mapping_of(line);
      if (mapping.shared && mapping.unnamed && mapping.inode == status.st_ino) goes_on = each(mapping);
    }
    have -= static_cast<std::size_t>(line - text);
    memmove(text, line, have);
  }
  close_by_system(fd);
  return goes_on;
}

bool map_instead(const Mapping& mapping, const char* path) {
  int fd = open_by_system(path, O_RDWR);  // it may be made one to write to later
  if (fd < 0 && (mapping.protection & PROT_WRITE) == 0) fd = open_by_system(path, O_RDONLY);
  if (fd < 0) return false;
  const long at = ::syscall(SYS_mmap, mapping.begin, mapping.end - mapping.begin, mapping.protection, MAP_SHARED | MAP_FIXED, fd, mapping.offset);
  close_by_system(fd);
  return at == static_cast<long>(mapping.begin);
}

// Copies of a descriptor go on having one place in the file.
bool is_copy(int fd, int of) {
  const long self = ::syscall(SYS_getpid);
  return fd == of || ::syscall(SYS_kcmp, self, self, KCMP_FILE, fd, of) == 0;
}

// The number stands for `file` from now on; whether programs that are executed get it stays.
bool take_number(int file, int fd) {
  const long kept = ::syscall(SYS_fcntl, fd, F_GETFD);
  return ::syscall(SYS_dup3, file, fd, (kept & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) >= 0;
}

bool open_instead(int out_of_sight, int first, const char* path) {
  const long flags = ::syscall(SYS_fcntl, first, F_GETFL), place = ::syscall(SYS_lseek, first, 0, SEEK_CUR);
  const int file = open_by_system(path, static_cast<int>(flags) & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DIRECT));
  if (file < 0) return false;
  // `first` comes last: the others are compared with it.
  const bool done = ::syscall(SYS_lseek, file, place, SEEK_SET) >= 0 && each_descriptor(out_of_sight, [=](int fd) {
    return fd == first || fd == file || !is_copy(fd, first) || take_number(file, fd);
  });
  const bool replaced = done && take_number(file, first);
  close_by_system(file);
  return replaced;
}

}  // namespace

bool is_same_file(int fd, int other) {
  struct stat status, of;
  return system_status(fd, "", &status, AT_EMPTY_PATH) == 0 && system_status(other, "", &of, AT_EMPTY_PATH) == 0 && is_same(status, of);
}

bool is_mapped(int out_of_sight) {
  return !each_mapping(out_of_sight, [](const Mapping&) { return false; });
}

bool is_in_use(int out_of_sight) {
  return !each_descriptor(out_of_sight, [](int) { return false; }) || is_mapped(out_of_sight);
}

bool hand_over(int out_of_sight, const char* path) {
#ifdef HOLDFAST_MUTATE_NOT_HANDED_OVER
  return true;
#endif
  return each_descriptor(out_of_sight, [=](int fd) { return open_instead(out_of_sight, fd, path); }) &&
         each_mapping(out_of_sight, [=](const Mapping& mapping) { return map_instead(mapping, path); });
}

bool write_all(int fd, const std::byte* from, std::size_t bytes, std::int64_t at) {
  for (long put = 0; bytes > 0; from += put, at += put, bytes -= static_cast<std::size_t>(put)) {
    put = ::syscall(SYS_pwrite64, fd, from, bytes, at);
    if (put <= 0) return false;
  }
  return true;
}

std::int64_t size_of(int fd) {
  struct stat status;
  return system_status(fd, "", &status, AT_EMPTY_PATH) == 0 ? status.st_size : -1;
}

}  // namespace hf::recorder
