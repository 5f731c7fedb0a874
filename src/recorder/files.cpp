// What the program does to files by itself. A rank that starts again does it again, which is right for a file that it writes from its
// beginning; what has been done and cannot be done twice (a directory made, a file removed) is taken as done; what would read or append to
// something else than before ends the job, naming the file. docs/recorder.md.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/looks.hpp"
#include "recorder/names.hpp"
#include "recorder/random.hpp"

namespace hf::recorder {
namespace {

int (*next_open)(const char*, int, ...);
int (*next_openat)(int, const char*, int, ...);
FILE* (*next_fopen)(const char*, const char*);
int (*next_remove)(const char*);
int (*next_unlink)(const char*);
int (*next_mkdir)(const char*, mode_t);
int (*next_rmdir)(const char*);
int (*next_rename)(const char*, const char*);

unsigned next_occurrence(Name& name, FileStep step) { return name.steps[static_cast<unsigned>(step)]++; }

// Not files whose contents are the system's.
bool is_ordinary(const char* path) {
  struct stat status;
  return !is_of_system(path) && (system_status(AT_FDCWD, path, &status, 0) != 0 || S_ISREG(status.st_mode));
}

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

// The file is opened for what it contains: to be read, or changed. False: it was not there in the run before, and is not there.
bool use_aside(const char* path, bool reads_only) {
  Name* name = name_of(hash_of(path));
  if (!name) return true;
  const FileState now = state_of(path);
  FileState before;
  if (!process.recording.replay_file(FileStep::used, name->hash, next_occurrence(*name, FileStep::used), before)) {
    process.recording.record_file(FileStep::used, name->hash, now);
    if (now.bytes < 0 && !reads_only) name->made_here = true;
    return true;
  }
  if (before.bytes < 0 && reads_only) return false;
  if (name->made_here) return true;
  if (before.bytes < 0) {
    // The run before made it, by this call.
    if (::truncate(path, 0) == 0 || errno == ENOENT) name->made_here = true;
    return true;
  }
  if (before.bytes != now.bytes || before.changed_ns != now.changed_ns) refuse(path);
  return true;
}

bool use(const char* path, bool reads_only) {
  return aside([=] { return use_aside(path, reads_only); });
}

bool failed_before(const Name& name, FileStep step, unsigned occurrence) {
  const auto failed = static_cast<FileStep>(static_cast<unsigned>(step) + static_cast<unsigned>(FileStep::failed));
  FileState state;
  for (unsigned i = 0; process.recording.replay_file(failed, name.hash, i, state); ++i) {
    if (state.bytes == static_cast<std::int64_t>(occurrence)) return true;
  }
  return false;
}

// One step that has its effect once: repeated, it fails with `done_already`.
template <class Do>
int do_once_aside(FileStep step, std::uint64_t hash, int done_already, Do what) {
  Name* name = name_of(hash);
  if (!name) return what();
  const unsigned occurrence = next_occurrence(*name, step);
  FileState state;
  const bool recorded = process.recording.replay_file(step, hash, occurrence, state);
  if (!recorded) process.recording.record_file(step, hash, {});
  const int result = what();
  if (result >= 0) return result;
  const int code = errno;
  if (recorded && code == done_already && !failed_before(*name, step, occurrence)) return 0;
  const auto failed = static_cast<FileStep>(static_cast<unsigned>(step) + static_cast<unsigned>(FileStep::failed));
  if (!recorded) process.recording.record_file(failed, hash, {static_cast<std::int64_t>(occurrence), 0});
  errno = code;
  return result;
}

template <class Do>
int do_once(FileStep step, std::uint64_t hash, int done_already, Do what) {
  return aside([=] { return do_once_aside(step, hash, done_already, what); });
}

void mark_made(const char* path) {
  if (Name* name = name_of(hash_of(path))) name->made_here = true;
}

// `open` is given the flags to open with.
template <class Open>
int open_recorded(const char* path, int flags, Open open) {
  if ((flags & (O_DIRECTORY | O_PATH)) != 0 || !is_ordinary(path)) return open(flags);  // O_TMPFILE has O_DIRECTORY in it
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
    int fd = -1;
    mark_made(path);
    const int result = do_once(FileStep::made, hash_of(path), EEXIST, [&] { return fd = open(flags); });
    return fd < 0 && result == 0 ? open((flags & ~O_EXCL) | O_TRUNC) : fd;
  }
  if ((flags & O_TRUNC) != 0) {
    mark_made(path);
  } else if ((flags & O_ACCMODE) != O_WRONLY || (flags & O_APPEND) != 0) {
    if (!use(path, (flags & O_ACCMODE) == O_RDONLY)) {
      errno = ENOENT;
      return -1;
    }
  }
  return open(flags);
}

mode_t mode_of(int flags, va_list arguments) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; }

int open_file(const void* caller, const char* path, int flags, mode_t mode) {
  auto open = [=](int with) { return next(next_open, "open")(path, with, mode); };
  const int fd = process.records_in_main_thread(caller) ? open_recorded(path, flags, open) : open(flags);
  return note_opened(path, fd);
}

int open_file_at(const void* caller, int directory, const char* path, int flags, mode_t mode) {
  auto open = [=](int with) { return next(next_openat, "openat")(directory, path, with, mode); };
  const bool here = directory == AT_FDCWD || path[0] == '/';
  const int fd = here && process.records_in_main_thread(caller) ? open_recorded(path, flags, open) : open(flags);
  return note_opened(path, fd);
}

FILE* open_stream(const char* path, const char* mode) {
  const char* opened = path;
  if (is_ordinary(path)) {
    if (mode[0] == 'w') mark_made(path);
    // Also one that cannot be opened takes memory and gives it back, which the program finds there afterwards.
    else if (!use(path, mode[0] == 'r' && !strchr(mode, '+'))) opened = "";
  }
  return next(next_fopen, "fopen")(opened, mode);
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(__builtin_return_address(0), path, flags, mode);
}

HOLDFAST_REPLACES int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(__builtin_return_address(0), path, flags | O_LARGEFILE, mode);
}

HOLDFAST_REPLACES int creat(const char* path, mode_t mode) {
  return open_file(__builtin_return_address(0), path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

HOLDFAST_REPLACES int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file_at(__builtin_return_address(0), directory, path, flags, mode);
}

HOLDFAST_REPLACES int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file_at(__builtin_return_address(0), directory, path, flags | O_LARGEFILE, mode);
}

// Those of C++ streams, which read from the descriptor, come by fopen64.
HOLDFAST_REPLACES FILE* fopen(const char* path, const char* mode) {
  if (!process.records_in_main_thread(__builtin_return_address(0))) return next(next_fopen, "fopen")(path, mode);
  if (FILE* file = open_random_stream(path, mode)) return file;
  return open_stream(path, mode);
}

HOLDFAST_REPLACES FILE* fopen64(const char* path, const char* mode) {
  return process.records_in_main_thread(__builtin_return_address(0)) ? open_stream(path, mode) : next(next_fopen, "fopen")(path, mode);
}

HOLDFAST_REPLACES int unlink(const char* path) noexcept {
  auto unlink = [=] { return next(next_unlink, "unlink")(path); };
  return process.records_in_main_thread(__builtin_return_address(0)) ? do_once(FileStep::removed, hash_of(path), ENOENT, unlink) : unlink();
}

HOLDFAST_REPLACES int remove(const char* path) noexcept {
  auto remove = [=] { return next(next_remove, "remove")(path); };
  return process.records_in_main_thread(__builtin_return_address(0)) ? do_once(FileStep::removed, hash_of(path), ENOENT, remove) : remove();
}

HOLDFAST_REPLACES int mkdir(const char* path, mode_t mode) noexcept {
  auto make = [=] { return next(next_mkdir, "mkdir")(path, mode); };
  return process.records_in_main_thread(__builtin_return_address(0)) ? do_once(FileStep::directory_made, hash_of(path), EEXIST, make) : make();
}

HOLDFAST_REPLACES int rmdir(const char* path) noexcept {
  auto remove = [=] { return next(next_rmdir, "rmdir")(path); };
  return process.records_in_main_thread(__builtin_return_address(0)) ? do_once(FileStep::directory_removed, hash_of(path), ENOENT, remove) : remove();
}

HOLDFAST_REPLACES int rename(const char* from, const char* to) noexcept {
  auto rename = [=] { return next(next_rename, "rename")(from, to); };
  if (!process.records_in_main_thread(__builtin_return_address(0))) return rename();
  const int result = do_once(FileStep::renamed, hash_of(to, hash_of(from)), ENOENT, rename);
  if (result == 0) mark_made(to);
  return result;
}
