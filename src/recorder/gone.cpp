#include "recorder/gone.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/file_steps.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"
#include "recorder/uncut.hpp"

namespace hf::recorder {
namespace {

// In the nearest directory that is there, without a name; else in memory, if `anywhere`.
int open_unnamed(const char* path, bool anywhere) {
  char above[4096];
  const std::size_t length = strlen(path);
  if (length >= sizeof above) return -1;
  memcpy(above, path, length + 1);
  for (char* slash; (slash = strrchr(above, '/'));) {
    slash[slash == above ? 1 : 0] = 0;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, above, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return static_cast<int>(fd);
    if (slash == above || errno != ENOENT) break;
  }
  const long fd = path[0] == '/' ? -1 : ::syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return static_cast<int>(fd);
  if (!anywhere) return -1;
  return static_cast<int>(::syscall(SYS_memfd_create, "holdfast", MFD_CLOEXEC));
}

}  // namespace

Where::Where(const char* path) : path_(path) {
  const Name* name = name_of(hash_of(path));
  struct stat status;
  const bool is_there = !name || name->out_of_sight == 0 || (!name->is_kept_again && !name->is_written_over && !name->is_appended && system_status(AT_FDCWD, path, &status, 0) == 0);
  if (!is_there) ::snprintf(link_, sizeof link_, "/proc/self/fd/%d", name->out_of_sight);
}

bool make_out_of_sight(const char* path, Name& name, bool anywhere) {
  if (name.out_of_sight != 0) return true;
  const int fd = move_apart(open_unnamed(path, anywhere));
  if (fd < 0) return false;
  name.out_of_sight = fd;
  return true;
}

bool pass_out_of_sight(const char* path, Name& name, unsigned occurrence, bool empties) {
  if (name.made_here) return false;  // this incarnation has emptied it, by an opening that may still be in use
  const bool passes = (empties || name.is_written_over) && process.recording.is_complete(name.hash, occurrence);
  if (!passes || !is_there(path) || strstr(path, "..")) return false;  // by another name of its directory it may be read too
  if (empties) drop_out_of_sight(name);
  if (!make_out_of_sight(path, name, false)) return false;
  name.is_written_over = true;
  return true;
}

void drop_out_of_sight(Name& name) {
  if (name.is_appended) forget_appended(name);
  if (name.out_of_sight != 0) ::syscall(SYS_close, name.out_of_sight);
  name.out_of_sight = 0;
  name.is_kept_again = name.is_written_over = name.is_appended = false;
}

void drop_if_over(Name& name) {
  if (name.is_written_over && !comes_again(name, FileStep::used) && !comes_again(name, FileStep::written)) drop_out_of_sight(name);
}

std::int64_t how_written(bool empties) {
  const bool alone = empties && !threads.are_several() && !has_had_children();
  return (empties ? Written::emptied : 0) | (alone ? Written::alone : 0);
}

void drop_kept(Name& name) {
  if (name.is_kept_again) drop_out_of_sight(name);
}

}  // namespace hf::recorder
