#include "recorder/uncut.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

off_t (*next_lseek)(int, off_t, int);
int (*next_fseek)(FILE*, long, int);
int (*next_fseeko)(FILE*, off_t, int);

struct Uncut {
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;
};
constexpr int uncut_max = 64;
constexpr int descriptors_from = 512;  // those that the program is given are to be the same as in the run before
Uncut uncut[uncut_max];
int uncut_count;  // looked at first: mostly there are none

Uncut* find(int fd) {
  if (__atomic_load_n(&uncut_count, __ATOMIC_RELAXED) == 0) return nullptr;
  for (Uncut& one : uncut) {
    if (__atomic_load_n(&one.fd, __ATOMIC_RELAXED) == fd) return &one;
  }
  return nullptr;
}

// Behind what has been written by now.
void cut(int fd, FILE* stream) {
  const Uncut* found = find(fd);
  if (!found) return;
  const Uncut one = *found;
  forget_uncut(fd);
  if (stream) ::fflush(stream);
  struct stat status;
  const bool same = system_status(fd, "", &status, AT_EMPTY_PATH) == 0 && status.st_dev == one.device && status.st_ino == one.inode;
  const long at = same ? ::syscall(SYS_lseek, fd, 0, SEEK_CUR) : -1;
  if (at >= 0 && at < status.st_size) ::syscall(SYS_ftruncate, fd, at);
}

void look_at(int whence, int fd, FILE* stream) {
  if (whence != SEEK_END || !find(fd)) [[likely]] return;
  aside([=] { cut(fd, stream); });
}

}  // namespace

void note_uncut(int fd) {
  struct stat status;
  if (fd < 0 || system_status(fd, "", &status, AT_EMPTY_PATH) != 0) return;
  for (Uncut& one : uncut) {
    if (one.fd >= 0) continue;
    one.device = status.st_dev;
    one.inode = status.st_ino;
    __atomic_store_n(&one.fd, fd, __ATOMIC_RELAXED);
    __atomic_fetch_add(&uncut_count, 1, __ATOMIC_RELAXED);
    return;
  }
}

void forget_uncut(int fd) {
  Uncut* one = find(fd);
  if (!one) return;
  __atomic_store_n(&one->fd, -1, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&uncut_count, 1, __ATOMIC_RELAXED);
}

int move_apart(int fd) {
  if (fd < 0) return fd;
  const long high = ::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, descriptors_from);
  ::syscall(SYS_close, fd);
  return static_cast<int>(high);
}

int open_apart(const char* path) {
  return move_apart(static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0)));
}

void take_over(FILE* stream, int fd, const char* mode) {
  ::syscall(SYS_dup3, fd, stream->_fileno, strchr(mode, 'e') ? O_CLOEXEC : 0);
  ::syscall(SYS_close, fd);
  note_uncut(stream->_fileno);
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES off_t lseek(int fd, off_t offset, int whence) noexcept {
  look_at(whence, fd, nullptr);
  return next(next_lseek, "lseek")(fd, offset, whence);
}

HOLDFAST_REPLACES off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  look_at(whence, fd, nullptr);
  return next(next_lseek, "lseek")(fd, offset, whence);
}

HOLDFAST_REPLACES int fseek(FILE* stream, long offset, int whence) {
  look_at(whence, stream->_fileno, stream);
  return next(next_fseek, "fseek")(stream, offset, whence);
}

HOLDFAST_REPLACES int fseeko(FILE* stream, off_t offset, int whence) {
  look_at(whence, stream->_fileno, stream);
  return next(next_fseeko, "fseeko")(stream, offset, whence);
}

HOLDFAST_REPLACES int fseeko64(FILE* stream, off64_t offset, int whence) {
  look_at(whence, stream->_fileno, stream);
  return next(next_fseeko, "fseeko")(stream, offset, whence);
}
