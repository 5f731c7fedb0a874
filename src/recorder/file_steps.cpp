#include "recorder/file_steps.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

FileState state_of(const char* path) {
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, 0) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec};
}

[[noreturn]] void refuse(const char* path) {
  ::fprintf(stderr,
            "holdfast: this rank cannot be recovered: %s was changed after the run before had opened it, so that it would be read "
            "or appended to differently now (docs/recorder.md, Files)\n",
            path);
  ::_exit(1);
}

bool use_aside(const char* path, Use use) {
  Name* name = name_of(hash_of(path));
  if (!name) return true;
  const FileState now = state_of(path);
  FileState before;
  if (!process.recording.replay_file(FileStep::used, name->hash, name->steps[static_cast<unsigned>(FileStep::used)]++, before)) {
    process.recording.record_file(FileStep::used, name->hash, now);
    if (now.bytes < 0 && use.creates && use.writes) name->made_here = true;
    return true;
  }
  if (before.bytes < 0 && !use.creates) return false;
  if (name->made_here) return true;
  if (before.bytes < 0) {
    // The run before made it, by this call.
    if (use.writes && (::truncate(path, 0) == 0 || errno == ENOENT)) name->made_here = true;
    return true;
  }
  if (before.bytes != now.bytes || before.changed_ns != now.changed_ns) refuse(path);
  return true;
}

}  // namespace

bool is_ordinary(const char* path) {
  struct stat status;
  return !is_of_system(path) && (system_status(AT_FDCWD, path, &status, 0) != 0 || S_ISREG(status.st_mode));
}

bool use(const char* path, Use use) {
  return aside([=] { return use_aside(path, use); });
}

bool is_new(const char* path) {
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const bool is_data = !is_of_system(path) && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode));
  const timespec& began = process.began();
  const bool since = status.st_ctim.tv_sec > began.tv_sec || (status.st_ctim.tv_sec == began.tv_sec && status.st_ctim.tv_nsec >= began.tv_nsec);
  return !is_data || since;
}

bool is_there(const char* path) {
  struct stat status;
  return system_status(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_made_here(const char* path) {
  Name* name = name_of(hash_of(path));
  return name && name->made_here;
}

void mark_made(const char* path, bool made) {
  if (Name* name = name_of(hash_of(path))) name->made_here = made;
}

}  // namespace hf::recorder
