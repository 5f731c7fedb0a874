#include "recorder/uncut.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

off_t (*next_lseek)(int, off_t, int);
int (*next_fseeko)(FILE*, off_t, int);
void (*next_rewind)(FILE*);
int (*next_fsetpos)(FILE*, const fpos_t*);
ssize_t (*next_pwrite)(int, const void*, size_t, off_t);
ssize_t (*next_pwritev)(int, const iovec*, int, off_t);
int (*next_dup)(int);
int (*next_dup2)(int, int);
int (*next_dup3)(int, int, int);

struct Uncut {
  bool is_open;  // the others are about an open file
  dev_t device;
  ino_t inode;
  off_t sought;  // where the last seek led
  off_t end;     // where the file would end, if it had been emptied
};
constexpr int descriptors_from = 512;  // those that the program is given are to be the same as in the run before
Uncut uncut[uncut_max];
int uncut_count;  // looked at first: mostly there are none

Uncut* find(int fd) {
  if (__atomic_load_n(&uncut_count, __ATOMIC_RELAXED) == 0 || fd < 0 || fd >= uncut_max) [[likely]] return nullptr;
  return __atomic_load_n(&uncut[fd].is_open, __ATOMIC_RELAXED) ? &uncut[fd] : nullptr;
}

void set_end(Uncut& one, off_t end) {
  if (end > one.end) one.end = end;
}

// What has been written up to here, since the last seek.
void write_to(Uncut& one, off_t place) {
  if (place > one.sought) set_end(one, place);
}

off_t place_of(int fd) { return ::syscall(SYS_lseek, fd, 0, SEEK_CUR); }

// Null: it is another file by now.
Uncut* find_same(int fd) {
  Uncut* one = find(fd);
  struct stat status;
  if (one && system_status(fd, "", &status, AT_EMPTY_PATH) == 0 && status.st_dev == one->device && status.st_ino == one->inode) return one;
  forget_uncut(fd);
  return nullptr;
}

off_t seek(int fd, off_t offset, int whence) {
  if (!find(fd)) [[likely]] return next(next_lseek, "lseek")(fd, offset, whence);
  return aside([=]() mutable {
    Uncut* one = find_same(fd);
    if (one) write_to(*one, place_of(fd));
#ifdef HOLDFAST_MUTATE_END_OF_LATER
    if (false) {
#else
    if (one && whence == SEEK_END) {
#endif
      offset += one->end;
      whence = SEEK_SET;
    }
    const off_t place = next(next_lseek, "lseek")(fd, offset, whence);
    if (one && place >= 0) one->sought = place;
    return place;
  });
}

// `seek` moves the stream to a place, from its file's beginning or, if not negative, from `end`.
template <class Seek>
auto seek_stream(FILE* stream, Seek seek) {
  if (!find(stream->_fileno)) [[likely]] return seek(-1);
  return aside([=] {
    Uncut* one = find_same(stream->_fileno);
    if (one) write_to(*one, ::ftello(stream));
    const auto result = seek(one ? one->end : -1);
    if (one && result == 0) one->sought = ::ftello(stream);
    return result;
  });
}

int seek_stream_to(FILE* stream, off_t offset, int whence) {
  return seek_stream(stream, [=](off_t end) {
    const bool from_end = end >= 0 && whence == SEEK_END;
    return next(next_fseeko, "fseeko")(stream, from_end ? end + offset : offset, from_end ? SEEK_SET : whence);
  });
}

int set_place(FILE* stream, const fpos_t* place) {
  return seek_stream(stream, [=](off_t) { return next(next_fsetpos, "fsetpos")(stream, place); });
}

ssize_t write_at(int fd, off_t offset, ssize_t written) {
  if (Uncut* one = written > 0 ? find(fd) : nullptr) set_end(*one, offset + written);
  return written;
}

int status_of(int fd, struct stat* status) {
  if (fd < 0) {  // AT_FDCWD is one
    errno = EBADF;
    return -1;
  }
  const int result = system_status(fd, "", status, AT_EMPTY_PATH);
  if (result == 0 && find(fd)) [[unlikely]] aside([=] { status->st_size = uncut_bytes(fd, status->st_size); });
  return result;
}

}  // namespace

void note_uncut(int fd) {
  struct stat status;
  if (fd < 0) return;
  if (fd >= uncut_max || system_status(fd, "", &status, AT_EMPTY_PATH) != 0) {
    ::syscall(SYS_ftruncate, fd, 0);
    return;
  }
  forget_uncut(fd);
  uncut[fd] = {false, status.st_dev, status.st_ino, 0, 0};
  __atomic_store_n(&uncut[fd].is_open, true, __ATOMIC_RELAXED);
  __atomic_fetch_add(&uncut_count, 1, __ATOMIC_RELAXED);
}

void forget_uncut(int fd) {
  Uncut* one = find(fd);
  if (!one) return;
  __atomic_store_n(&one->is_open, false, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&uncut_count, 1, __ATOMIC_RELAXED);
}

void set_uncut_end(int fd, std::int64_t bytes) {
  if (Uncut* one = find(fd)) one->end = bytes;
}

std::int64_t uncut_bytes(int fd, std::int64_t bytes) {
  Uncut* one = find_same(fd);
  if (!one) return bytes;
  write_to(*one, place_of(fd));
  return one->end < bytes ? one->end : bytes;
}

void cut_uncut(int fd) {
  if (!find(fd)) return;
  aside([=] {
    struct stat status;
    if (system_status(fd, "", &status, AT_EMPTY_PATH) != 0) return;
    const std::int64_t end = uncut_bytes(fd, status.st_size);
    if (end < status.st_size) ::syscall(SYS_ftruncate, fd, end);
    forget_uncut(fd);
  });
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

static_assert(sizeof(off_t) == sizeof(off64_t) && sizeof(fpos_t) == sizeof(fpos64_t) && sizeof(struct stat) == sizeof(struct stat64), "one layout under both names");

HOLDFAST_REPLACES off_t lseek(int fd, off_t offset, int whence) noexcept { return seek(fd, offset, whence); }
HOLDFAST_REPLACES off64_t lseek64(int fd, off64_t offset, int whence) noexcept { return seek(fd, offset, whence); }
HOLDFAST_REPLACES int fseek(FILE* stream, long offset, int whence) { return seek_stream_to(stream, offset, whence); }
HOLDFAST_REPLACES int fseeko(FILE* stream, off_t offset, int whence) { return seek_stream_to(stream, offset, whence); }
HOLDFAST_REPLACES int fseeko64(FILE* stream, off64_t offset, int whence) { return seek_stream_to(stream, offset, whence); }
HOLDFAST_REPLACES int fsetpos(FILE* stream, const fpos_t* place) { return set_place(stream, place); }
HOLDFAST_REPLACES int fsetpos64(FILE* stream, const fpos64_t* place) { return set_place(stream, reinterpret_cast<const fpos_t*>(place)); }

HOLDFAST_REPLACES void rewind(FILE* stream) {
  seek_stream(stream, [=](off_t) {
    next(next_rewind, "rewind")(stream);
    return 0;
  });
}

HOLDFAST_REPLACES ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  return write_at(fd, offset, next(next_pwrite, "pwrite")(fd, from, bytes, offset));
}
HOLDFAST_REPLACES ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t offset) {
  return write_at(fd, offset, next(next_pwrite, "pwrite")(fd, from, bytes, offset));
}
HOLDFAST_REPLACES ssize_t pwritev(int fd, const iovec* from, int count, off_t offset) {
  return write_at(fd, offset, next(next_pwritev, "pwritev")(fd, from, count, offset));
}
HOLDFAST_REPLACES ssize_t pwritev64(int fd, const iovec* from, int count, off64_t offset) {
  return write_at(fd, offset, next(next_pwritev, "pwritev")(fd, from, count, offset));
}

HOLDFAST_REPLACES int fstat(int fd, struct stat* status) noexcept { return status_of(fd, status); }
HOLDFAST_REPLACES int fstat64(int fd, struct stat64* status) noexcept { return status_of(fd, reinterpret_cast<struct stat*>(status)); }
// Of programs that were built for a C library before 2.33.
HOLDFAST_REPLACES int __fxstat(int, int fd, struct stat* status) noexcept { return status_of(fd, status); }
HOLDFAST_REPLACES int __fxstat64(int, int fd, struct stat64* status) noexcept { return status_of(fd, reinterpret_cast<struct stat*>(status)); }

HOLDFAST_REPLACES int dup(int fd) noexcept {
  cut_uncut(fd);
  return next(next_dup, "dup")(fd);
}

HOLDFAST_REPLACES int dup2(int fd, int to) noexcept {
  cut_uncut(fd);
  if (fd != to) forget_uncut(to);
  return next(next_dup2, "dup2")(fd, to);
}

HOLDFAST_REPLACES int dup3(int fd, int to, int flags) noexcept {
  cut_uncut(fd);
  if (fd != to) forget_uncut(to);
  return next(next_dup3, "dup3")(fd, to, flags);
}
