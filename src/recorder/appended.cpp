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
#include "recorder/handing_over.hpp"
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

constexpr std::size_t piece_bytes = 64 << 10;
std::byte ours[piece_bytes], theirs[piece_bytes];
std::size_t piece_of(std::int64_t left) { return left < static_cast<std::int64_t>(piece_bytes) ? static_cast<std::size_t>(left) : piece_bytes; }

Appended* find(const Name* name) {
  for (Appended& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool copy_head(const char* from, int to, std::int64_t bytes) {
  const int fd = open_by_system(from, O_RDONLY);
  if (fd < 0) return false;
  std::int64_t at = 0;
  while (at < bytes) {
    const long got = ::syscall(SYS_pread64, fd, ours, piece_of(bytes - at), at);
    if (got <= 0 || ::syscall(SYS_pwrite64, to, ours, got, at) != got) break;
    at += got;
  }
  close_by_system(fd);
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

// Its path is `to` and the rest of what it was.
void follow(Appended& one, const char* to, const char* rest) {
  Name& was = *one.name;
  if (!is_in_use(was.out_of_sight)) return drop_out_of_sight(was);
  if (!put_renamed(to, rest, one.path)) refuse(one.path);
  if (!move_out_of_sight(was, one.path)) refuse(one.path);
  one.name = name_of(hash_of(one.path));
}

// False: not yet.
bool settle(Appended& one, bool is_past) {
  const int from = one.name->out_of_sight, reader = open_by_system(one.path, O_RDONLY);
  const std::int64_t own = size_of(from);
  std::int64_t there = reader < 0 ? 0 : size_of(reader);
  const bool changed = reader >= 0 && (there < one.before || !same(reader, from, one.before, (own < there ? own : there) - one.before));
  if (reader >= 0) close_by_system(reader);
  if (!is_past && (reader < 0 || changed || own < there)) return false;  // the run before may have cut it since, or given it another name
  if (changed) refuse(one.path);
  const int file = open_by_system(one.path, O_WRONLY | O_APPEND | O_CREAT);
  if (file < 0 && errno == ENOENT && !is_in_use(from)) {  // another rank has removed the directory
    one.name->instead = Instead::made;
    one.name = nullptr;
    return true;
  }
#ifdef HOLDFAST_MUTATE_ADD_ALL_AGAIN
  there = one.before;
#endif
  if (file < 0 || !hand_over(from, one.path) || !add(file, from, there, size_of(from))) refuse(one.path);
  close_by_system(file);
  drop_out_of_sight(*one.name);
  return true;
}

}  // namespace

bool append_out_of_sight(const char* path, Name& name, std::int64_t bytes) {
  Appended* one = find(nullptr);
  if (!one || !put_from_root(path, one->path)) return false;
  drop_out_of_sight(name);
  if (!make_out_of_sight(path, name, true)) return false;
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, 0) == 0) ::syscall(SYS_fchmod, name.out_of_sight, status.st_mode & 07777);
  if (::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) {
    drop_out_of_sight(name);
    return false;
  }
  one->name = &name;
  one->before = bytes;
  one->is_filled = bytes == 0;
  name.instead = Instead::appended;
  return true;
}

void forget_appended(const Name& name) {
  if (Appended* one = find(&name)) one->name = nullptr;
}

bool fill_appended(Name& name) {
  Appended* one = find(&name);
  return one && (one->is_filled || (one->is_filled = copy_head(one->path, name.out_of_sight, one->before)));
}

void follow_renamed_appended(const char* from, const char* to) {
  const std::uint64_t hash = hash_of(from);
  for (Appended& one : all) {
    if (const char* rest = one.name ? rest_below(one.path, hash) : nullptr) follow(one, to, rest);
  }
}

Name* appended_at(int fd) {
  for (Appended& one : all) {
    if (one.name && is_same_file(one.name->out_of_sight, fd)) return one.name;
  }
  return nullptr;
}

int cut_appended(Name& name, std::int64_t bytes, bool in_sight) {
  Appended* one = find(&name);
  if (!one || ::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) return -1;
  if (one->before > bytes) one->before = bytes;
  return in_sight ? static_cast<int>(::syscall(SYS_truncate, one->path, bytes)) : 0;
}

void settle_appended(Name& name) {
  Appended* one = name.instead == Instead::appended ? find(&name) : nullptr;
  if (one) settle(*one, true);
}

void settle_appended_below(const char* path) {
  const std::uint64_t hash = hash_of(path);
  for (Appended& one : all) {
    if (one.name && rest_below(one.path, hash)) settle(one, true);
  }
}

bool settle_all_appended(bool is_past) {
  bool done = true;
  for (Appended& one : all) {
    if (one.name) done = settle(one, is_past) && done;
  }
  return done;
}

}  // namespace hf::recorder
