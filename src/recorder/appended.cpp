#include "recorder/appended.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

struct Appended {
  Name* name = nullptr;     // null: free
  std::int64_t before = 0;  // bytes that the file had
  bool is_filled = false;   // and they are there
  char path[4096];          // from the root
};
constexpr int appended_max = 32;
Appended all[appended_max];

constexpr int descriptors_max = 4096;  // those above are left as they are
constexpr std::size_t piece_bytes = 64 << 10;
std::byte ours[piece_bytes], theirs[piece_bytes];
std::size_t piece_of(std::int64_t left) { return left < static_cast<std::int64_t>(piece_bytes) ? static_cast<std::size_t>(left) : piece_bytes; }

Appended* find(const Name* name) {
  for (Appended& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

int open_system(const char* path, int flags) { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666)); }
void close_system(int fd) { ::syscall(SYS_close, fd); }

std::int64_t size_of(int fd) {
  struct stat status;
  return system_status(fd, "", &status, AT_EMPTY_PATH) == 0 ? status.st_size : -1;
}

bool put_from_root(const char* path, char (&to)[4096]) {
  const std::size_t length = strlen(path);
  std::size_t at = 0;
  if (path[0] != '/') {
    if (::syscall(SYS_getcwd, to, sizeof to) <= 0) return false;
    at = strlen(to);
    if (at + 1 < sizeof to) to[at++] = '/';
  }
  if (at + length >= sizeof to) return false;
  memcpy(to + at, path, length + 1);
  return true;
}

bool copy_head(const char* from, int to, std::int64_t bytes) {
  const int fd = open_system(from, O_RDONLY);
  if (fd < 0) return false;
  std::int64_t at = 0;
  while (at < bytes) {
    const long got = ::syscall(SYS_pread64, fd, ours, piece_of(bytes - at), at);
    if (got <= 0 || ::syscall(SYS_pwrite64, to, ours, got, at) != got) break;
    at += got;
  }
  close_system(fd);
  return at == bytes;
}

// The first `bytes` behind `at` of both.
bool same(int a, int b, std::int64_t at, std::int64_t bytes) {
  while (bytes > 0) {
    const long got = ::syscall(SYS_pread64, a, ours, piece_of(bytes), at);
    if (got <= 0 || ::syscall(SYS_pread64, b, theirs, got, at) != got || memcmp(ours, theirs, static_cast<std::size_t>(got)) != 0) return false;
    at += got;
    bytes -= got;
  }
  return true;
}

bool add(int to, int from, std::int64_t at, std::int64_t end) {
  while (at < end) {
    const long got = ::syscall(SYS_pread64, from, ours, piece_of(end - at), at);
    if (got <= 0 || ::syscall(SYS_write, to, ours, got) != got) return false;
    at += got;
  }
  return true;
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// The program's descriptors of the file out of sight: each(fd), until it is false.
template <class Each>
bool each_open(int out_of_sight, Each each) {
  struct stat status, of;
  if (system_status(out_of_sight, "", &status, AT_EMPTY_PATH) != 0) return false;
  for (int fd = 0; fd < descriptors_max; ++fd) {
    const bool it = fd != out_of_sight && system_status(fd, "", &of, AT_EMPTY_PATH) == 0 && is_same_file(of, status);
    if (it && !each(fd)) return false;
  }
  return true;
}

bool is_open(int out_of_sight) {
  return !each_open(out_of_sight, [](int) { return false; });
}

// What the program has open of the file out of sight becomes the file itself, under the same numbers.
bool hand_over(int out_of_sight, const char* path) {
  return each_open(out_of_sight, [=](int fd) {
    const long flags = ::syscall(SYS_fcntl, fd, F_GETFL), kept = ::syscall(SYS_fcntl, fd, F_GETFD);
    const long place = ::syscall(SYS_lseek, fd, 0, SEEK_CUR);
    const int file = open_system(path, static_cast<int>(flags) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    const bool done = file >= 0 && ::syscall(SYS_lseek, file, place, SEEK_SET) >= 0 && ::syscall(SYS_dup3, file, fd, (kept & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) >= 0;
    if (file >= 0) close_system(file);
    return done;
  });
}

// What comes behind the directory, or file, with that name, if the path leads there.
const char* rest_below(const char* path, std::uint64_t hash) {
  char above[4096];
  for (std::size_t length = 1;; ++length) {
    if (path[length] != '/' && path[length] != 0) continue;
    memcpy(above, path, length);
    above[length] = 0;
    if (hash_of(above) == hash) return path + length;
    if (path[length] == 0) return nullptr;
  }
}

// Its path is `to` and the rest of what it was.
void follow(Appended& one, const char* to, const char* rest) {
  Name& was = *one.name;
  if (!is_open(was.out_of_sight)) return drop_out_of_sight(was);
  char path[4096];
  const bool fits = put_from_root(to, path) && strlen(path) + strlen(rest) < sizeof path;
  if (!fits) refuse(one.path);
  strcat(path, rest);
  Name* is = name_of(hash_of(path));
  if (!is) refuse(one.path);
  if (is == &was) return;
  drop_out_of_sight(*is);
  memcpy(one.path, path, sizeof path);
  is->out_of_sight = was.out_of_sight;
  is->is_appended = true;
  was.out_of_sight = 0;
  was.is_appended = false;
  one.name = is;
}

// False: not yet.
bool settle(Appended& one, bool is_past) {
  const int from = one.name->out_of_sight, reader = open_system(one.path, O_RDONLY);
  const std::int64_t own = size_of(from);
  std::int64_t there = reader < 0 ? 0 : size_of(reader);
  const bool changed = reader >= 0 && (there < one.before || !same(reader, from, one.before, (own < there ? own : there) - one.before));
  if (reader >= 0) close_system(reader);
  if (!is_past && (reader < 0 || changed || own < there)) return false;  // the run before may have cut it since, or given it another name
  if (changed) refuse(one.path);
  const int file = open_system(one.path, O_WRONLY | O_APPEND | O_CREAT);
  if (file < 0 && errno == ENOENT && !is_open(from)) {  // another rank has removed the directory
    one.name->is_appended = false;
    one.name = nullptr;
    return true;
  }
#ifdef HOLDFAST_MUTATE_ADD_ALL_AGAIN
  there = one.before;
#endif
  if (file < 0 || !hand_over(from, one.path) || !add(file, from, there, size_of(from))) refuse(one.path);
  close_system(file);
  drop_out_of_sight(*one.name);
  return true;
}

}  // namespace

bool append_out_of_sight(const char* path, Name& name, std::int64_t bytes) {
  Appended* one = find(nullptr);
  if (!one || !put_from_root(path, one->path)) return false;
  drop_out_of_sight(name);
  if (!make_out_of_sight(path, name, true)) return false;
  if (::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) {
    drop_out_of_sight(name);
    return false;
  }
  one->name = &name;
  one->before = bytes;
  one->is_filled = bytes == 0;
  name.is_appended = true;
  return true;
}

bool is_open(const Name& name) { return is_open(name.out_of_sight); }

void forget_appended(const Name& name) {
  if (Appended* one = find(&name)) one->name = nullptr;
}

bool fill_appended(Name& name) {
  Appended* one = find(&name);
  return one && (one->is_filled || (one->is_filled = copy_head(one->path, name.out_of_sight, one->before)));
}

void follow_renamed(const char* from, const char* to) {
  const std::uint64_t hash = hash_of(from);
  for (Appended& one : all) {
    if (const char* rest = one.name ? rest_below(one.path, hash) : nullptr) follow(one, to, rest);
  }
}

Name* appended_at(int fd) {
  struct stat status, of;
  if (system_status(fd, "", &status, AT_EMPTY_PATH) != 0) return nullptr;
  for (Appended& one : all) {
    if (one.name && system_status(one.name->out_of_sight, "", &of, AT_EMPTY_PATH) == 0 && is_same_file(of, status)) return one.name;
  }
  return nullptr;
}

int cut_appended(Name& name, std::int64_t bytes, bool in_sight) {
  Appended* one = find(&name);
  if (!one || ::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) return -1;
  if (one->before > bytes) one->before = bytes;
  return in_sight ? static_cast<int>(::syscall(SYS_truncate, one->path, bytes)) : 0;
}

void settle(Name& name) {
  Appended* one = name.is_appended ? find(&name) : nullptr;
  if (one) settle(*one, true);
}

void settle(const char* path) {
  if (Name* name = name_of(hash_of(path))) settle(*name);
}

void settle_below(const char* path) {
  const std::uint64_t hash = hash_of(path);
  for (Appended& one : all) {
    if (one.name && rest_below(one.path, hash)) settle(one, true);
  }
}

bool settle_all(bool is_past) {
  bool done = true;
  for (Appended& one : all) {
    if (one.name) done = settle(one, is_past) && done;
  }
  return done;
}

}  // namespace hf::recorder

// A program that ends without MPI_Finalize.
[[gnu::destructor]] static void settle_at_end() {
  using namespace hf::recorder;
  if (process.on_main_thread()) aside([] { settle_all(true); });
}
