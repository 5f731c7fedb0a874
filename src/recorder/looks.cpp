// stat and access: whether a file is there, and what it is. A look says what the same look of the run before said; the file itself is
// not asked then. docs/recorder.md, Files.
#include "recorder/looks.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"
#include "recorder/contents.hpp"
#include "recorder/listings.hpp"
#include "recorder/opened.hpp"
#include "recorder/updates.hpp"

namespace hf::recorder {
namespace {

constexpr std::int64_t ns_per_s = 1000000000;

int (*next_fstatat)(int, const char*, struct stat*, int);
int (*next_faccessat)(int, const char*, int, int);
int (*next_statx)(int, const char*, int, unsigned, struct statx*);

std::int64_t ns_of(const timespec& time) { return time.tv_sec * ns_per_s + time.tv_nsec; }

// Rounded down, also before 1970.
timespec time_of(std::int64_t ns) {
  const std::int64_t rest = (ns % ns_per_s + ns_per_s) % ns_per_s;
  return {(ns - rest) / ns_per_s, rest};
}

FileStatus recorded(const struct stat& from) {
  return {from.st_dev, from.st_ino, from.st_mode, static_cast<std::uint32_t>(from.st_nlink), from.st_uid, from.st_gid, from.st_rdev,
          from.st_size, from.st_blksize, from.st_blocks, ns_of(from.st_atim), ns_of(from.st_mtim), ns_of(from.st_ctim), 0};
}

void give(const FileStatus& from, struct stat& to) {
  memset(&to, 0, sizeof to);
  to.st_dev = from.device;
  to.st_ino = from.inode;
  to.st_mode = from.mode;
  to.st_nlink = from.links;
  to.st_uid = from.owner;
  to.st_gid = from.group;
  to.st_rdev = from.special_device;
  to.st_size = from.bytes;
  to.st_blksize = static_cast<blksize_t>(from.block_bytes);
  to.st_blocks = from.blocks;
  to.st_atim = time_of(from.accessed_ns);
  to.st_mtim = time_of(from.modified_ns);
  to.st_ctim = time_of(from.changed_ns);
}

statx_timestamp timestamp_of(const timespec& time) { return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec), {}}; }

void give(const struct stat& from, struct statx& to) {
  memset(&to, 0, sizeof to);
  to.stx_mask = STATX_BASIC_STATS;
  to.stx_blksize = static_cast<std::uint32_t>(from.st_blksize);
  to.stx_nlink = static_cast<std::uint32_t>(from.st_nlink);
  to.stx_uid = from.st_uid;
  to.stx_gid = from.st_gid;
  to.stx_mode = static_cast<std::uint16_t>(from.st_mode);
  to.stx_ino = from.st_ino;
  to.stx_size = static_cast<std::uint64_t>(from.st_size);
  to.stx_blocks = static_cast<std::uint64_t>(from.st_blocks);
  to.stx_atime = timestamp_of(from.st_atim);
  to.stx_mtime = timestamp_of(from.st_mtim);
  to.stx_ctime = timestamp_of(from.st_ctim);
  to.stx_rdev_major = major(from.st_rdev);
  to.stx_rdev_minor = minor(from.st_rdev);
  to.stx_dev_major = major(from.st_dev);
  to.stx_dev_minor = minor(from.st_dev);
}

// The look has a name of its own, and is the program's.
bool is_recorded(const void* caller, int directory, const char* path) {
  return is_name(path) && path[0] && (directory == AT_FDCWD || path[0] == '/') && !is_of_system(path) && process.records_in_main_thread(caller);
}

int result_of(std::int64_t error) {
  if (error == 0) return 0;
  errno = static_cast<int>(error);
  return -1;
}

// `do_look` asks the system: 0, or -1 with errno. Null `status`: access.
template <class DoLook>
int look(FileStep step, const char* path, std::int64_t how, FileStatus* status, DoLook do_look) {
  Name* name = name_of(hash_of(path));
  std::uint32_t* made = name ? &name->count(step) : nullptr;
  if (!made || *made > looks_max) return do_look();
  const FileLook which{step, name->hash, (*made)++};
  std::int64_t error = 0;
  if (process.recording.replay_look(which, how, error, status)) return result_of(error);
  const int before = errno;
  error = do_look() == 0 ? 0 : errno;
  process.recording.record_look(which, how, error, status);
  errno = before;
  return result_of(error);
}

// Or it may have been, where the end is not recorded.
bool may_have_been_removed_next(const Name& name, FileStep step) {
  const auto end = end_of(step);
  const unsigned occurrence = name.count(step);
  FileState state;
  if (process.recording.replay_file(end, name.hash, occurrence, state)) return state.bytes == 0;
  return process.recording.replay_file(step, name.hash, occurrence, state);
}

// The run before removed a directory that it had looked at, and may have opened it between: it is to be found, empty, until it is removed again. Not by others, one of
// which may make one of that name at any time.
bool find_directory_again(Name* name, mode_t mode) {
  if (!name || name->out_of_sight != 0) return false;
  if (!may_have_been_removed_next(*name, FileStep::directory_removed) && !may_have_been_removed_next(*name, FileStep::removed)) return false;
  return stand_in_for_directory(*name, mode & 07777);
}

// The program may compare which file it has open with which one a name leads to.
void show_in_sight(struct stat& status) {
  const struct stat* file = in_sight_of(status.st_dev, status.st_ino);
  if (!file) return;
  status.st_dev = file->st_dev;
  status.st_ino = file->st_ino;
  status.st_nlink = file->st_nlink;
}

void show_in_sight(struct statx& status) {
  const struct stat* file = in_sight_of(makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino);
  if (!file) return;
  status.stx_dev_major = major(file->st_dev);
  status.stx_dev_minor = minor(file->st_dev);
  status.stx_ino = file->st_ino;
  status.stx_nlink = static_cast<std::uint32_t>(file->st_nlink);
}

int status_of_open(int fd, struct stat* to) {
  if (fd < 0) {  // AT_FDCWD is one
    errno = EBADF;
    return -1;
  }
  const int result = system_status(fd, "", to, AT_EMPTY_PATH);
  if (result == 0) show_in_sight(*to);
  return result;
}

// What is out of sight and what is there contain the same.
bool is_the_same(const char* path) { return contents_of(path) == contents_of(Where(path).path()); }

int recorded_status(int directory, const char* path, struct stat* to, int flags) {
  FileStatus status;
  const FileStep step = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? FileStep::looked_at_link : FileStep::looked;
  bool asked = false;
  struct stat now;
  const int result = look(step, path, 0, &status, [&] {
    asked = true;
    settle(path);
    const int looked = system_status(directory, path, &now, flags);
    if (looked == 0) status = recorded(now);
    return looked;
  });
  if (result != 0) return result;
  // It may go on to looks, and openings, that the run before has not made, and compare which file they show.
  Name* name = name_of(hash_of(path));
  if (name && (name->instead == Instead::kept || (name->instead == Instead::updated && is_gone(*name))) && is_the_same(path)) drop_out_of_sight(*name);
  auto is_there_now = [&] {
    const bool in_sight = !Where(path).is_out_of_sight();
    if (in_sight && system_status(directory, path, &now, flags) == 0) return true;
    if (in_sight && !(S_ISDIR(status.mode) && find_directory_again(name, status.mode))) return false;
    const bool there = system_status(AT_FDCWD, Where(path).path(), &now, 0) == 0;
    show_in_sight(now);
    return there;
  };
  // Which file it is, the program may compare with what it has opened, of this run.
  if (!asked && is_there_now()) {
#ifndef HOLDFAST_MUTATE_OLD_IDENTITY
    status.device = now.st_dev;
    status.inode = now.st_ino;
#endif
  }
  give(status, *to);
  return 0;
}

int status_at(const void* caller, int directory, const char* path, struct stat* to, int flags) {
  const bool of_open = (flags & AT_EMPTY_PATH) != 0 && is_name(path) && path[0] == 0 && directory != AT_FDCWD;
  if (of_open) return status_of_open(directory, to);
  char whole[4096];
  const char* name = put_listed(caller, directory, path, whole) ? whole : path;
  if (!is_recorded(caller, directory, name)) return system_status(directory, path, to, flags);
  return aside([=] { return recorded_status(directory, name, to, flags); });
}

int access_at(const void* caller, int directory, const char* path, int mode, int flags) {
  auto ask = [=] { return next(next_faccessat, "faccessat")(directory, path, mode, flags); };
  if (!is_recorded(caller, directory, path)) return ask();
  return aside([=] { return look(FileStep::asked, path, mode | static_cast<std::int64_t>(flags) << 32, nullptr, ask); });
}

}  // namespace

int system_status(int directory, const char* path, struct stat* status, int flags) {
  return next(next_fstatat, "fstatat")(directory, path, status, flags);
}

int system_statx(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  return next(next_statx, "statx")(directory, path, flags, mask, status);
}

}  // namespace hf::recorder

using namespace hf::recorder;

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout under both names");

// The programs' own, and those of libraries that were built for a C library before 2.33, where stat is __xstat.
#define HOLDFAST_CALLER __builtin_return_address(0)
#define HOLDFAST_REPLACES_STATUS(suffix)                                                                                           \
  HOLDFAST_REPLACES int stat##suffix(const char* path, struct stat##suffix* to) noexcept {                                         \
    return status_at(HOLDFAST_CALLER, AT_FDCWD, path, reinterpret_cast<struct stat*>(to), 0);                                      \
  }                                                                                                                                \
  HOLDFAST_REPLACES int lstat##suffix(const char* path, struct stat##suffix* to) noexcept {                                        \
    return status_at(HOLDFAST_CALLER, AT_FDCWD, path, reinterpret_cast<struct stat*>(to), AT_SYMLINK_NOFOLLOW);                    \
  }                                                                                                                                \
  HOLDFAST_REPLACES int fstatat##suffix(int directory, const char* path, struct stat##suffix* to, int flags) noexcept {            \
    return status_at(HOLDFAST_CALLER, directory, path, reinterpret_cast<struct stat*>(to), flags);                                 \
  }                                                                                                                                \
  HOLDFAST_REPLACES int __xstat##suffix(int, const char* path, struct stat##suffix* to) noexcept {                                 \
    return status_at(HOLDFAST_CALLER, AT_FDCWD, path, reinterpret_cast<struct stat*>(to), 0);                                      \
  }                                                                                                                                \
  HOLDFAST_REPLACES int __lxstat##suffix(int, const char* path, struct stat##suffix* to) noexcept {                                \
    return status_at(HOLDFAST_CALLER, AT_FDCWD, path, reinterpret_cast<struct stat*>(to), AT_SYMLINK_NOFOLLOW);                    \
  }                                                                                                                                \
  HOLDFAST_REPLACES int __fxstatat##suffix(int, int directory, const char* path, struct stat##suffix* to, int flags) noexcept {    \
    return status_at(HOLDFAST_CALLER, directory, path, reinterpret_cast<struct stat*>(to), flags);                                 \
  }
HOLDFAST_REPLACES_STATUS()
HOLDFAST_REPLACES_STATUS(64)

HOLDFAST_REPLACES int fstat(int fd, struct stat* to) noexcept { return status_of_open(fd, to); }
HOLDFAST_REPLACES int fstat64(int fd, struct stat64* to) noexcept { return status_of_open(fd, reinterpret_cast<struct stat*>(to)); }
HOLDFAST_REPLACES int __fxstat(int, int fd, struct stat* to) noexcept { return status_of_open(fd, to); }
HOLDFAST_REPLACES int __fxstat64(int, int fd, struct stat64* to) noexcept { return status_of_open(fd, reinterpret_cast<struct stat*>(to)); }

HOLDFAST_REPLACES int statx(int directory, const char* path, int flags, unsigned mask, struct statx* to) noexcept {
  const void* caller = HOLDFAST_CALLER;
  char whole[4096];
  if (!is_recorded(caller, directory, put_listed(caller, directory, path, whole) ? whole : path)) {
    const int result = next(next_statx, "statx")(directory, path, flags, mask, to);
    if (result == 0 && (flags & AT_EMPTY_PATH) != 0) show_in_sight(*to);
    return result;
  }
  struct stat status;
  const int result = status_at(caller, directory, path, &status, flags & (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH));
  if (result == 0) give(status, *to);
  return result;
}

HOLDFAST_REPLACES int access(const char* path, int mode) noexcept { return access_at(HOLDFAST_CALLER, AT_FDCWD, path, mode, 0); }

HOLDFAST_REPLACES int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  return access_at(HOLDFAST_CALLER, directory, path, mode, flags);
}

HOLDFAST_REPLACES int euidaccess(const char* path, int mode) noexcept {
  return access_at(HOLDFAST_CALLER, AT_FDCWD, path, mode, AT_EACCESS);
}

HOLDFAST_REPLACES int eaccess(const char* path, int mode) noexcept {
  return access_at(HOLDFAST_CALLER, AT_FDCWD, path, mode, AT_EACCESS);
}
