#include "recorder/opened.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/file_steps.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {

static bool leads_to_directory(const char* path) {
  struct stat status;
  return system_status(AT_FDCWD, path, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

bool opens_directory(const char* path, int flags) {
  const bool plain = (flags & (O_PATH | O_CREAT | O_ACCMODE)) == O_RDONLY && !is_of_system(path);
  Name* name = plain ? name_of(hash_of(path)) : nullptr;
  if (!name) return false;
  FileState before;
  const bool did = process.recording.replay_file(FileStep::directory_opened, name->hash, name->count(FileStep::directory_opened), before) &&
                   before.changed_ns == name->count(FileStep::used);
  return did || (flags & O_DIRECTORY) != 0 || leads_to_directory(path);
}

bool stand_in_for_directory(Name& name, mode_t mode) {
  const EmptyDirectory directory(mode);
  const int fd = move_apart(static_cast<int>(::syscall(SYS_openat, AT_FDCWD, directory.path(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0)));
  if (fd < 0) return false;
  name.set_out_of_sight(fd, Instead::directory);
  return true;
}

int made_and_gone(const char* path) {
#ifdef HOLDFAST_MUTATE_MADE_AGAIN
  return -1;
#endif
  Name* name = name_of(hash_of(path));
  FileState ended;
  if (!name || !process.recording.replay_file(end_of(FileStep::directory_made), name->hash, name->count(FileStep::directory_made), ended)) return -1;
  FileState entered;
  if ((ended.bytes != 0 && ended.bytes != EEXIST) || starts_processes() || process.recording.replay_file(FileStep::entered, name->hash, 0, entered)) return -1;
  if (!others_have_removed(path) && !others_have_replaced(path, ended.changed_ns)) return -1;
  if (name->instead != Instead::directory) {
    drop_out_of_sight(*name);
    if (!stand_in_for_directory(*name, S_IRWXU)) return -1;
  }
  ++name->count(FileStep::directory_made);
  return static_cast<int>(ended.bytes);
}

bool is_in_one_gone(const char* path) {
  char above[4096];
  if (!put_from_root(path, above)) return false;
  for (char* slash; (slash = strrchr(above, '/')) && slash != above;) {
    *slash = 0;
    const Name* name = name_of(hash_of(above));
    if (name && name->instead == Instead::directory) return true;
  }
  return false;
}

// In memory, if it can be.
EmptyDirectory::EmptyDirectory(mode_t mode) {
  constexpr int attempts_max = 100;
  const long process_id = ::syscall(SYS_getpid);
  for (int i = 0; i < attempts_max; ++i) {
    ::snprintf(path_, sizeof path_, "%s/holdfast.%ld.%d", i % 2 == 0 ? "/dev/shm" : "/tmp", process_id, i);
    if (::syscall(SYS_mkdirat, AT_FDCWD, path_, mode) == 0) return;
  }
  path_[0] = 0;
}

EmptyDirectory::~EmptyDirectory() { ::syscall(SYS_unlinkat, AT_FDCWD, path_, AT_REMOVEDIR); }

}  // namespace hf::recorder
