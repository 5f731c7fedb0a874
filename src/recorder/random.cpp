// Random numbers from the system.
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recorder/random.hpp"

#include "recorder/aside.hpp"
#include "recorder/system_call.hpp"

namespace hf::recorder {
namespace {

constexpr unsigned random_major = 1, random_minor = 8, urandom_minor = 9;  // of their devices, on Linux
constexpr int files_max = 1024;

bool may_be_random[files_max];  // descriptors that were opened as such a device

ssize_t (*next_read)(int, void*, size_t);
ssize_t (*next_read_chk)(int, void*, size_t, size_t);
int (*next_close)(int);
FILE* (*next_fdopen)(int, const char*);
unsigned (*next_random_device)(void*);

bool is_random_path(const char* path) { return path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0); }

// The descriptor may have been closed meanwhile, and be another file's.
bool is_random(int fd) {
  struct stat status;
  may_be_random[fd] = ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && major(status.st_rdev) == random_major &&
                      (minor(status.st_rdev) == random_minor || minor(status.st_rdev) == urandom_minor);
  return may_be_random[fd];
}

// Fills `to` from the record, or from `draw`, which gives what a system call would; its result.
template <class Draw>
ssize_t recorded_aside(void* to, std::size_t bytes, Draw draw) {
  LibcOperation operation("the drawing of random bytes");
  if (!operation.records()) return draw(static_cast<std::byte*>(to), bytes);
  std::size_t done = 0;
  while (done < bytes) {
    auto* at = static_cast<std::byte*>(to) + done;
    const std::size_t room = bytes - done < Recording::bytes_max ? bytes - done : Recording::bytes_max;
    std::size_t got = room;
    if (!process.recording.replay_bytes(Call::random_bytes, at, got)) {
      const ssize_t drawn = draw(at, room);
      if (drawn <= 0) return done > 0 ? static_cast<ssize_t>(done) : drawn;
      got = static_cast<std::size_t>(drawn);
      process.recording.record_bytes(Call::random_bytes, at, got);
    }
    done += got;
    if (got < room) break;
  }
  return static_cast<ssize_t>(done);
}

template <class Draw>
ssize_t recorded(void* to, std::size_t bytes, Draw draw) {
  return aside([=] { return recorded_aside(to, bytes, draw); });
}

ssize_t draw(void* to, std::size_t bytes, unsigned flags) {
  return system_call(SYS_getrandom, reinterpret_cast<long>(to), static_cast<long>(bytes), static_cast<long>(flags));
}
ssize_t draw_any(void* to, std::size_t bytes) { return draw(to, bytes, 0); }

// Of a stream, whose cookie is the descriptor that it was made of, if it was made of one.
ssize_t read_device(void*, char* to, size_t bytes) {
  if (!process.records(nullptr)) return draw_any(to, bytes);
  return recorded(to, bytes, draw_any);
}
int close_device(void* cookie) { return next(next_close, "close")(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie))); }

FILE* stream_of(void* cookie, cookie_close_function_t* close) {
  FILE* file = ::fopencookie(cookie, "r", {read_device, nullptr, nullptr, close});
  if (file) ::setvbuf(file, nullptr, _IONBF, 0);  // no more than the program asks for
  return file;
}

ssize_t read_recorded(const void* caller, int fd, void* to, std::size_t bytes) {
  const bool recorded_file = fd >= 0 && fd < files_max && may_be_random[fd];
  if (recorded_file) [[unlikely]] {
    if (process.records(caller) && is_random(fd)) {
      return recorded(to, bytes, [fd](void* at, std::size_t n) { return next(next_read, "read")(fd, at, n); });
    }
  }
  return next(next_read, "read")(fd, to, bytes);
}

}  // namespace

void draw_recorded(void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = recorded(static_cast<std::byte*>(to) + done, bytes - done, draw_any);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

ssize_t draw_random(void* to, std::size_t bytes, unsigned flags) {
  return recorded(to, bytes, [flags](void* at, std::size_t n) { return draw(at, n, flags); });
}

int note_opened(const char* path, int fd) {
  if (fd >= 0 && fd < files_max && is_random_path(path)) may_be_random[fd] = true;
  return fd;
}

FILE* open_random_stream(const char* path, const char* mode) {
  if (!is_random_path(path) || mode[0] != 'r') return nullptr;
  return stream_of(nullptr, nullptr);
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  return process.records(CALLER) ? draw_random(to, bytes, flags) : draw(to, bytes, flags);
}

HOLDFAST_REPLACES int getentropy(void* to, size_t bytes) noexcept {
  if (bytes > 256) {
    errno = EIO;
    return -1;
  }
  const ssize_t got = process.records(__builtin_return_address(0)) ? recorded(to, bytes, draw_any) : draw_any(to, bytes);
  if (got == static_cast<ssize_t>(bytes)) return 0;
  if (got >= 0) errno = EIO;
  return -1;
}

HOLDFAST_REPLACES void arc4random_buf(void* to, size_t bytes) noexcept {
  const bool records = process.records(__builtin_return_address(0));
  for (std::size_t done = 0; done < bytes;) {
    auto* at = static_cast<std::byte*>(to) + done;
    const ssize_t got = records ? recorded(at, bytes - done, draw_any) : draw_any(at, bytes - done);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

HOLDFAST_REPLACES std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  const bool records = process.records(__builtin_return_address(0));
  while ((records ? recorded(&value, sizeof value, draw_any) : draw_any(&value, sizeof value)) != sizeof value) {
  }
  return value;
}

HOLDFAST_REPLACES std::uint32_t arc4random_uniform(std::uint32_t bound) noexcept {
  const bool records = process.records(__builtin_return_address(0));
  if (bound < 2) return 0;
  const std::uint32_t below = -bound % bound;  // values that would make the first ones likelier
  for (;;) {
    std::uint32_t value = 0;
    const ssize_t got = records ? recorded(&value, sizeof value, draw_any) : draw_any(&value, sizeof value);
    if (got == sizeof value && value >= below) return value % bound;
  }
}

// std::random_device::_M_getval(), which takes its numbers from the processor.
HOLDFAST_REPLACES unsigned _ZNSt13random_device9_M_getvalEv(void* self) {
  const bool records = process.records(__builtin_return_address(0));
  return aside([=] {
    std::uint64_t value = 0;
    LibcOperation operation("std::random_device", records);
    if (operation.records() && process.recording.replay_value(Call::random_device, value)) return static_cast<unsigned>(value);
    auto* draw = next(next_random_device, "_ZNSt13random_device9_M_getvalEv");
    if (draw) value = draw(self);
    else while (draw_any(&value, sizeof(unsigned)) != sizeof(unsigned)) {  // its library was loaded where we do not see it
    }
    if (operation.records()) process.recording.record_value(Call::random_device, static_cast<unsigned>(value));
    return static_cast<unsigned>(value);
  });
}

HOLDFAST_REPLACES ssize_t read(int fd, void* to, size_t bytes) { return read_recorded(CALLER, fd, to, bytes); }

// What read is in programs that are fortified.
HOLDFAST_REPLACES ssize_t __read_chk(int fd, void* to, size_t bytes, size_t room) {
  if (bytes > room) return next(next_read_chk, "__read_chk")(fd, to, bytes, room);
  return read_recorded(CALLER, fd, to, bytes);
}

// The stream's own reads are made inside the C library.
HOLDFAST_REPLACES FILE* fdopen(int fd, const char* mode) noexcept {
  const bool may_be = fd >= 0 && fd < files_max && may_be_random[fd] && mode[0] == 'r';
  if (may_be && process.records(CALLER) && is_random(fd)) return stream_of(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), close_device);
  return next(next_fdopen, "fdopen")(fd, mode);
}
