#include "recorder/appended.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
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
  int fd = 0;               // 0: free
  Name* name = nullptr;     // of which it is out of sight; null: of none any more
  bool is_gone = false;     // no name leads to the file itself
  std::int64_t before = 0;  // bytes that the file had when it was opened first
  std::int64_t latest = 0;  // and when it was opened last: what others have added is among them
  std::int64_t known = 0;   // up to here what is out of sight has been added by the predecessors
  bool is_filled = false;   // and they are there
  dev_t device = 0;
  ino_t inode = 0;
  bool is_there = false;
  struct stat in_sight;     // the file itself, where it is there
  char path[4096];          // from the root
};
constexpr int appended_max = 32;
Appended all[appended_max];

std::byte ours[piece_bytes];

Appended* find(const Name* name) {
  for (Appended& one : all) {
    if (one.fd != 0 && one.name == name) return &one;
  }
  return nullptr;
}

bool copy_head(const char* from, int to, std::int64_t bytes) {
  const int fd = open_by_system(from, O_RDONLY);
  if (fd < 0) return false;
  std::int64_t at = 0;
  while (at < bytes) {
    const long got = ::syscall(SYS_pread64, fd, ours, bytes_of_piece(bytes - at), at);
    if (got <= 0 || ::syscall(SYS_pwrite64, to, ours, got, at) != got) break;
    at += got;
  }
  close_by_system(fd);
  return at == bytes;
}

// A part of a file, up to its end.
class Mapped {
 public:
  Mapped(int fd, std::int64_t from) {
    const std::int64_t page = from & ~std::int64_t{4095}, end = size_of(fd);
    if (end <= from) return;
    const long at = ::syscall(SYS_mmap, nullptr, end - page, PROT_READ, MAP_SHARED, fd, page);
    if (at < 0 && at > -4096) return;
    mapping_ = reinterpret_cast<const std::byte*>(at);
    mapped_ = static_cast<std::size_t>(end - page);
    data = mapping_ + (from - page);
    bytes = static_cast<std::size_t>(end - from);
  }
  ~Mapped() {
    if (mapping_) ::syscall(SYS_munmap, mapping_, mapped_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  const std::byte* data = nullptr;
  std::size_t bytes = 0;

 private:
  const std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
};

// How many bytes of what was added last are in the file, among what others add: all, or what was written before the rank was killed in between.
std::int64_t added(const Mapped& own, const Mapped& file) {
  if (own.bytes == 0 || memmem(file.data, file.bytes, own.data, own.bytes)) return static_cast<std::int64_t>(own.bytes);
  constexpr std::size_t least = 16;  // fewer may be anybody's
  std::size_t longest = 0;
  for (std::size_t at = 0; own.bytes > least && at + least <= file.bytes; ++at) {
    const void* found = memmem(file.data + at, file.bytes - at, own.data, least);
    if (!found) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - file.data);
    std::size_t same = least;
    while (same < own.bytes && at + same < file.bytes && own.data[same] == file.data[at + same]) ++same;
    while (same > 0 && at + same < file.bytes && own.data[same - 1] != std::byte{'\n'}) --same;  // else it is a part of another line
    if (same > longest) longest = same;
  }
  return static_cast<std::int64_t>(longest);
}

bool add(int to, int from, std::int64_t at, std::int64_t end) {
  while (at < end) {
    const long got = ::syscall(SYS_pread64, from, ours, bytes_of_piece(end - at), at);
    if (got <= 0 || ::syscall(SYS_write, to, ours, got) != got) return false;
    at += got;
  }
  return true;
}

void drop(Appended& one) {
  close_by_system(one.fd);
  if (one.name) one.name->set_in_sight();
  one.fd = 0;
  one.name = nullptr;
}

// Its path is `to` and the rest of what it was.
void follow(Appended& one, const char* to, const char* rest) {
  if (!is_in_use(one.fd)) return drop(one);
  if (!put_renamed(to, rest, one.path)) refuse(one.path);
  if (!one.name) return;
  if (!move_out_of_sight(*one.name, one.path)) refuse(one.path);
  one.name = name_of(hash_of(one.path));
}

void settle(Appended& one) {
  if (one.is_gone) return drop(one);
  const bool is_used = is_in_use(one.fd), lacks = size_of(one.fd) > one.known;
  if (!is_used && !lacks) return drop(one);
  const int file = open_by_system(one.path, O_RDWR | O_APPEND | O_CREAT);
  if (file < 0 && errno == ENOENT && !is_used) return;  // another rank has removed the directory: it stays out of sight
  std::int64_t there = file < 0 ? 0 : one.known + added(Mapped(one.fd, one.known), Mapped(file, one.latest));
#ifdef HOLDFAST_MUTATE_ADD_ALL_AGAIN
  there = one.before;
#endif
  if (file < 0 || !hand_over(one.fd, one.path) || !add(file, one.fd, there, size_of(one.fd))) refuse(one.path);
  close_by_system(file);
  drop(one);
}

}  // namespace

bool append_out_of_sight(const char* path, Name& name, std::int64_t bytes) {
  Appended* one = nullptr;
  for (Appended& any : all) {
    if (any.fd == 0) one = &any;
  }
  if (!one || !put_from_root(path, one->path)) return false;
  drop_out_of_sight(name);
  if (!make_out_of_sight(path, name)) return false;
  struct stat status;
  if (system_status(name.out_of_sight, "", &status, AT_EMPTY_PATH) != 0) return false;
  one->device = status.st_dev;
  one->inode = status.st_ino;
  one->is_there = system_status(AT_FDCWD, path, &one->in_sight, 0) == 0;
  one->is_gone = others_have_removed(path);
  if (one->is_there) ::syscall(SYS_fchmod, name.out_of_sight, one->in_sight.st_mode & 07777);
  if (::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) {
    drop_out_of_sight(name);
    return false;
  }
  one->fd = name.out_of_sight;
  one->name = &name;
  one->before = one->latest = one->known = bytes;
  one->is_filled = bytes == 0;
  name.instead = Instead::appended;
  return true;
}

void append_again(Name& name, std::int64_t bytes) {
  Appended* one = find(&name);
  if (one && ::syscall(SYS_ftruncate, name.out_of_sight, bytes) == 0) one->latest = one->known = bytes;
}

void note_added(const Name& name) {
  if (Appended* one = find(&name)) one->known = size_of(name.out_of_sight);
}

bool is_anything_appended() {
  for (const Appended& one : all) {
    if (one.fd != 0 && !one.is_gone) return true;
  }
  return false;
}

void begin_last_call_appended() {
  for (Appended& one : all) {
    if (one.fd != 0) one.known = size_of(one.fd);
  }
}

void leave_appended(Name& name) {
  Appended& one = *find(&name);
  one.name = nullptr;
  name.set_in_sight();
  if (!is_in_use(one.fd)) drop(one);
}

void forget_appended(const Name& name) {
  for (Appended& one : all) {
    if (one.fd != 0 && hash_of(one.path) == name.hash) one.is_gone = true;
  }
}

bool fill_appended(Name& name) {
  Appended* one = find(&name);
  return one && (one->is_filled || (one->is_filled = copy_head(one->path, name.out_of_sight, one->before)));
}

void follow_renamed_appended(const char* from, const char* to) {
  const std::uint64_t hash = hash_of(from);
  for (Appended& one : all) {
    if (const char* rest = one.fd != 0 && !one.is_gone ? rest_below(one.path, hash) : nullptr) follow(one, to, rest);
  }
}

const struct stat* in_sight_of_appended(dev_t device, ino_t inode) {
  for (const Appended& one : all) {
    if (one.fd != 0 && one.is_there && one.inode == inode && one.device == device) return &one.in_sight;
  }
  return nullptr;
}

Name* appended_at(int fd) {
  for (Appended& one : all) {
    if (one.fd != 0 && one.name && is_same_file(one.fd, fd)) return one.name;
  }
  return nullptr;
}

int cut_appended(Name& name, std::int64_t bytes, bool in_sight) {
  Appended* one = find(&name);
  if (!one || ::syscall(SYS_ftruncate, name.out_of_sight, bytes) != 0) return -1;
  for (std::int64_t* of : {&one->before, &one->latest, &one->known}) {
    if (*of > bytes) *of = bytes;
  }
  return in_sight ? static_cast<int>(::syscall(SYS_truncate, one->path, bytes)) : 0;
}

void settle_appended(Name& name) {
  Appended* one = name.instead == Instead::appended ? find(&name) : nullptr;
  if (one) settle(*one);
}

void settle_appended_below(const char* path) {
  const std::uint64_t hash = hash_of(path);
  for (Appended& one : all) {
    if (one.fd != 0 && rest_below(one.path, hash)) settle(one);
  }
}

void settle_all_appended() {
  for (Appended& one : all) {
    if (one.fd != 0) settle(one);
  }
}

}  // namespace hf::recorder
