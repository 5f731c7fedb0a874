// Mode, owner and times of a file by its name: of the one out of sight, where that has the name. They are not recorded: each replay sets them again.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "recorder/aside.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"

namespace hf::recorder {
namespace {

int (*next_chmod)(const char*, mode_t);
int (*next_fchmodat)(int, const char*, mode_t, int);
int (*next_chown)(const char*, uid_t, gid_t);
int (*next_lchown)(const char*, uid_t, gid_t);
int (*next_fchownat)(int, const char*, uid_t, gid_t, int);
int (*next_utime)(const char*, const utimbuf*);
int (*next_utimes)(const char*, const timeval*);
int (*next_utimensat)(int, const char*, const timespec*, int);

// set(path, flags) sets it.
template <class Set>
int set_by_name(const void* caller, int directory, const char* path, int flags, Set set) {
  if (!is_plain(caller, directory, path)) return set(path, flags);
  return aside([=] {
    const Where where(path);
    return set(where.path(), where.is_out_of_sight() ? flags & ~AT_SYMLINK_NOFOLLOW : flags);
  });
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int chmod(const char* path, mode_t mode) noexcept {
  if (is_plain(CALLER, AT_FDCWD, path)) aside([=] { keep_in_sight(path); });
  return set_by_name(CALLER, AT_FDCWD, path, 0, [=](const char* where, int) { return next(next_chmod, "chmod")(where, mode); });
}

HOLDFAST_REPLACES int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
  return set_by_name(CALLER, directory, path, flags, [=](const char* where, int with) { return next(next_fchmodat, "fchmodat")(directory, where, mode, with); });
}

HOLDFAST_REPLACES int chown(const char* path, uid_t owner, gid_t group) noexcept {
  return set_by_name(CALLER, AT_FDCWD, path, 0, [=](const char* where, int) { return next(next_chown, "chown")(where, owner, group); });
}

HOLDFAST_REPLACES int lchown(const char* path, uid_t owner, gid_t group) noexcept {
  return set_by_name(CALLER, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, [=](const char* where, int with) {
    return (with != 0 ? next(next_lchown, "lchown") : next(next_chown, "chown"))(where, owner, group);
  });
}

HOLDFAST_REPLACES int fchownat(int directory, const char* path, uid_t owner, gid_t group, int flags) noexcept {
  return set_by_name(CALLER, directory, path, flags, [=](const char* where, int with) { return next(next_fchownat, "fchownat")(directory, where, owner, group, with); });
}

HOLDFAST_REPLACES int utime(const char* path, const utimbuf* times) noexcept {
  return set_by_name(CALLER, AT_FDCWD, path, 0, [=](const char* where, int) { return next(next_utime, "utime")(where, times); });
}

HOLDFAST_REPLACES int utimes(const char* path, const timeval times[2]) noexcept {
  return set_by_name(CALLER, AT_FDCWD, path, 0, [=](const char* where, int) { return next(next_utimes, "utimes")(where, times); });
}

HOLDFAST_REPLACES int utimensat(int directory, const char* path, const timespec times[2], int flags) noexcept {
  return set_by_name(CALLER, directory, path, flags, [=](const char* where, int with) { return next(next_utimensat, "utimensat")(directory, where, times, with); });
}
