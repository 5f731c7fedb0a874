#include "recorder/gone.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/appended.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"
#include "recorder/handing_over.hpp"

namespace hf::recorder {

constexpr int descriptors_from = 512;  // those that the program is given are to be the same as in the run before

// Where the file system has no files without a name.
static int make_and_unlink(const char* directory) {
  char path[4096 + 64];
  for (int i = 0; i < 100; ++i) {
    ::snprintf(path, sizeof path, "%s/.holdfast.%ld.%d", directory, ::syscall(SYS_getpid), i);
    const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) ::syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (fd >= 0 || errno != EEXIST) return static_cast<int>(fd);
  }
  return -1;
}

static int make_unnamed_in(const char* directory) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd < 0 && errno == EOPNOTSUPP ? make_and_unlink(directory) : static_cast<int>(fd);
}

// In the nearest directory that is there; else in memory.
static int make_unnamed(const char* path) {
  char above[4096];
  const std::size_t length = strlen(path);
  if (length >= sizeof above) return -1;
  memcpy(above, path, length + 1);
  for (char* slash; (slash = strrchr(above, '/'));) {
    slash[slash == above ? 1 : 0] = 0;
    const int fd = make_unnamed_in(above);
    if (fd >= 0) return fd;
    if (slash == above || errno != ENOENT) break;
  }
  const int fd = path[0] == '/' ? -1 : make_unnamed_in(".");
  if (fd >= 0) return fd;
  return static_cast<int>(::syscall(SYS_memfd_create, "holdfast", MFD_CLOEXEC));
}

int move_apart(int fd) {
  if (fd < 0) return fd;
  const long high = ::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, descriptors_from);
  ::syscall(SYS_close, fd);
  return static_cast<int>(high);
}

int open_unnamed(const char* path) { return move_apart(make_unnamed(path)); }

Where::Where(const char* path) : path_(path) {
  const Name* name = name_of(hash_of(path));
  struct stat status;
  const bool is_there = !name || name->out_of_sight == 0 || (!hf::recorder::is_out_of_sight(*name) && system_status(AT_FDCWD, path, &status, 0) == 0);
  if (!is_there) ::snprintf(link_, sizeof link_, "/proc/self/fd/%d", name->out_of_sight);
}

bool is_out_of_sight(const Name& name) { return name.out_of_sight != 0 && name.instead != Instead::made; }

bool make_out_of_sight(const char* path, Name& name) {
  if (name.out_of_sight != 0) return true;
  const int fd = open_unnamed(path);
  if (fd < 0) return false;
  name.out_of_sight = fd;
  return true;
}

void drop_out_of_sight(Name& name) {
  if (name.instead == Instead::updated) return leave_updated(name);
  if (name.instead == Instead::appended) return leave_appended(name);
  if (name.out_of_sight != 0) ::syscall(SYS_close, name.out_of_sight);
  name.set_in_sight();
}

bool move_out_of_sight(Name& name, const char* to) {
  Name* is = name_of(hash_of(to));
  if (!is || is == &name) return is != nullptr;
  drop_out_of_sight(*is);
  is->set_out_of_sight(name.out_of_sight, name.instead);
  name.set_in_sight();
  return true;
}

void drop_if_over(Name& name) {
  FileState state;
  const bool comes = is_opened_again(name) || process.recording.replay_file(FileStep::passed_on, name.hash, 0, state);
  if (name.out_of_sight == 0 || comes) return;
  if (name.instead == Instead::updated) drop_if_closed(name);
  else if (name.instead != Instead::appended && !is_in_use(name.out_of_sight)) drop_out_of_sight(name);
}

void drop_kept(Name& name) {
  if (name.instead == Instead::kept) drop_out_of_sight(name);
}

}  // namespace hf::recorder
