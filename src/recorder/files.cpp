// Opening of files (file_steps.hpp).
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/kept.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"
#include "recorder/opened.hpp"
#include "recorder/random.hpp"
#include "recorder/updates.hpp"
#include "recorder/closings.hpp"

namespace hf::recorder {
namespace {

int (*next_open)(const char*, int, ...);
int (*next_openat)(int, const char*, int, ...);
FILE* (*next_fopen)(const char*, const char*);
FILE* (*next_freopen)(const char*, const char*, FILE*);

// The file, a stream or a descriptor, was opened by the last of these steps with the name.
template <class File>
File watch_last(File file, const char* path, FileStep step, FileStep closing) {
  const Name* name = name_of(hash_of(path));
  return name ? watch(file, name, name->count(step) - 1, closing) : file;
}

// Where a file is out of sight, its path is a link.
int without_link(const char* path, const char* where, int flags) { return where == path ? flags : flags & ~O_NOFOLLOW; }

// What the run before has made, and is to be out of sight now: it is opened so. Not made first, in sight, where a killed replay would leave it behind.
template <class Open>
bool open_made_out_of_sight(const char* path, Name& name, Open open) {
  std::uint32_t& occurrence = name.count(FileStep::made);
  FileState ended;
  if (!process.recording.replay_file(end_of(FileStep::made), name.hash, occurrence, ended) || ended.bytes != 0) return false;
  if (!write_out_of_sight(path, name, ended.changed_ns)) return false;
  ++occurrence;
  open(Where(path).path());
  return true;
}

// It is made, by make(); in a replay, what the run before made is opened by open(where). Both are true when that is done.
template <class Make, class Open>
void make_new(const char* path, Make make, Open open) {
  Name* name = name_of(hash_of(path));
  if (name && open_made_out_of_sight(path, *name, open)) return;
  bool made = false;
  if (make_once(FileStep::made, path, [&] { return (made = make()) ? 0 : -1; }) != 0 || made) return;
  if (!name) {
    open(path);
    return;
  }
  const bool closed = process.recording.was_closed(FileStep::closed_new, name->hash, name->count(FileStep::made) - 1);
  if (make_again(path, *name, closed, open)) name->made_here = true;
}

template <class Open>
int open_new(const char* path, int flags, Open open) {
  int fd = -1;
  const int with = (flags & ~O_EXCL) | O_TRUNC;
  make_new(path, [&] { return (fd = open(path, flags)) >= 0; }, [&](const char* where) { return (fd = open(where, without_link(path, where, with))) >= 0; });
  return watch_last(fd, path, FileStep::made, FileStep::closed_new);
}

// The file is used, and opened, by open(path): true when that is done, else errno says why it is not.
template <class Open>
Used open_known(const char* path, Way way, Open open) {
  Used used;
  if (way.writes) {
    if (Name* name = name_of(hash_of(path))) drop_kept(*name);
  }
  if (!way.empties) used = use(path, way);
  if (used.found == Found::absent) {
    open("");  // a stream takes memory and gives it back, which the program finds there afterwards
    errno = ENOENT;
    return used;
  }
  const bool done = way.empties || way.creates ? open_by_making(path, way.empties, open) : open(used.found == Found::unread ? "/dev/null" : Where(path).path());
  if (done && way.updates()) note_update(path);
  if (done && way.writes && !way.empties) process.await_stable();
  return used;
}

// `open` is given the path and the flags to open with.
template <class Open>
int open_aside(const char* path, int flags, Open open) {
  if (opens_directory(path, flags)) return open_directory(path, flags, [&](const char* where, int with) { return open(where, without_link(path, where, with)); });
  if ((flags & (O_DIRECTORY | O_PATH)) != 0 || !is_ordinary(path)) return open(path, flags);  // O_TMPFILE has O_DIRECTORY in it
  const Way way = way_of(flags);
  if (way.creates && way.exclusive) return open_new(path, flags, open);
  int fd = -1;
  const Used used = open_known(path, way, [&](const char* where) { return (fd = open(where, without_link(path, where, flags))) >= 0; });
  if (way.empties || way.creates) return watch_last(fd, path, FileStep::written, FileStep::closed);
  return watch(fd, used.name, used.occurrence, FileStep::used);
}

// All that the file contains will be this incarnation's, whoever of its threads opens it.
bool will_make(int directory, const char* path, int flags) {
  if (process.recording.is_first() || (flags & (O_CREAT | O_TRUNC)) == 0) return false;
  struct stat status;
  return (flags & O_TRUNC) != 0 || system_status(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0;
}

template <class Open>
int open_recorded(const char* path, int flags, Open open) {
  return aside([=] {
    const bool makes = will_make(AT_FDCWD, path, flags);
    const int fd = open_aside(path, flags, open);
    if (fd >= 0 && (makes || is_made_here(path))) note_made(fd);
    return fd;
  });
}

// In an open directory: the file is to be found there in each replay.
void keep_in_sight_in(int directory, const char* name) {
  char path[4096];
  if (!put_path_of(directory, path)) return;
  note_entered(path);
  const std::size_t length = strlen(path);
  if (length + strlen(name) + 2 > sizeof path) return;
  path[length] = '/';
  memcpy(path + length + 1, name, strlen(name) + 1);
  keep_in_sight(path);
}

template <class Open>
int open_unrecorded(int directory, const char* path, int flags, Open open) {
  if (!is_name(path)) return open(path, flags);
  return aside([=] {
    const bool makes = will_make(directory, path, flags);
    const int fd = watch(open(path, flags), nullptr, 0, FileStep::closed);
    if (fd >= 0 && makes) note_made(fd);
    return fd;
  });
}

mode_t mode_of(int flags, va_list arguments) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; }

int open_file(const void* caller, const char* path, int flags, mode_t mode) {
  auto open = [=](const char* where, int with) { return next(next_open, "open")(where, with, mode); };
  const bool recorded = is_name(path) && process.records_in_main_thread(caller);
  const int fd = recorded ? open_recorded(path, flags, open) : open_unrecorded(AT_FDCWD, path, flags, open);
  return note_opened(path, fd);
}

int open_file_at(const void* caller, int directory, const char* path, int flags, mode_t mode) {
  auto open = [=](const char* where, int with) { return next(next_openat, "openat")(directory, where, with, mode); };
  const bool here = is_name(path) && (directory == AT_FDCWD || path[0] == '/');
  const bool in_main_thread = process.records_in_main_thread(caller), recorded = here && in_main_thread;
  if (in_main_thread && !here && is_name(path)) aside([=] { keep_in_sight_in(directory, path); });
  const int fd = recorded ? open_recorded(path, flags, open) : open_unrecorded(directory, path, flags, open);
  return note_opened(path, fd);
}

template <class Open>
FILE* open_new_stream(const char* path, const char* mode, Open open) {
  FILE* file = nullptr;
  char without[16] = {};
  for (std::size_t i = 0, n = 0; mode[i] && n + 1 < sizeof without; ++i) {
    if (mode[i] != 'x') without[n++] = mode[i];
  }
  make_new(path, [&] { return (file = open(path, mode)) != nullptr; }, [&](const char* where) { return (file = open(where, without)) != nullptr; });
  return watch_last(file, path, FileStep::made, FileStep::closed_new);
}

// `open` is given the path and the mode to open with.
template <class Open>
FILE* open_stream_aside(const char* path, const char* mode, Open open) {
  if (!is_ordinary(path)) return open(path, mode);
  const Way way = way_of(mode);
  if (way.creates && way.exclusive) return open_new_stream(path, mode, open);
  FILE* file = nullptr;
  const Used used = open_known(path, way, [&](const char* where) { return (file = open(where, mode)) != nullptr; });
  if (way.creates) return watch_last(file, path, FileStep::written, FileStep::closed);
  return watch(file, used.name, used.occurrence, way.writes ? FileStep::used : FileStep::unread);
}

// `open` as above.
template <class Open>
FILE* open_stream(const void* caller, const char* path, const char* mode, Open open) {
  if (!is_name(path)) return open(path, mode);
  const bool recorded = process.records_in_main_thread(caller);
  FILE* file = nullptr;
  aside([&] {
    const int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
    const bool makes = will_make(AT_FDCWD, path, flags);
    file = recorded ? open_stream_aside(path, mode, open) : open(path, mode);
    if (file && (makes || (recorded && flags != 0 && is_made_here(path)))) note_made(file->_fileno);
    return file ? 0 : -1;
  });
  return file;
}

FILE* open_by_name(const void* caller, const char* path, const char* mode) {
  auto open = [](const char* name, const char* with) { return next(next_fopen, "fopen")(name, with); };
  return open_stream(caller, path, mode, open);
}

FILE* open_again(const void* caller, const char* path, const char* mode, FILE* stream) {
  auto open = [=](const char* name, const char* with) { return next(next_freopen, "freopen")(name, with, stream); };
  forget(stream);
  const bool shows = stream == stdout || stream == stderr;  // a line that is there twice does less harm than a rank that cannot be recovered
  return shows ? open(path, mode) : open_stream(caller, path, mode, open);
}

}  // namespace

int open_to_list(const void* caller, const char* path) {
  return open_file(caller, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC | O_LARGEFILE, 0);
}

int open_as_program(const char* path, int flags, mode_t mode) {
  return open_recorded(path, flags, [=](const char* where, int with) { return next(next_open, "open")(where, with, mode); });
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(CALLER, path, flags, mode);
}

HOLDFAST_REPLACES int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file(CALLER, path, flags | O_LARGEFILE, mode);
}

HOLDFAST_REPLACES int creat(const char* path, mode_t mode) {
  return open_file(CALLER, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

HOLDFAST_REPLACES int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file_at(CALLER, directory, path, flags, mode);
}

HOLDFAST_REPLACES int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file_at(CALLER, directory, path, flags | O_LARGEFILE, mode);
}

HOLDFAST_REPLACES int creat64(const char* path, mode_t mode) {
  return open_file(CALLER, path, O_CREAT | O_WRONLY | O_TRUNC | O_LARGEFILE, mode);
}

// What open is in programs that are fortified.
HOLDFAST_REPLACES int __open_2(const char* path, int flags) { return open_file(CALLER, path, flags, 0); }
HOLDFAST_REPLACES int __open64_2(const char* path, int flags) { return open_file(CALLER, path, flags | O_LARGEFILE, 0); }
HOLDFAST_REPLACES int __openat_2(int directory, const char* path, int flags) { return open_file_at(CALLER, directory, path, flags, 0); }
HOLDFAST_REPLACES int __openat64_2(int directory, const char* path, int flags) { return open_file_at(CALLER, directory, path, flags | O_LARGEFILE, 0); }

HOLDFAST_REPLACES FILE* fopen(const char* path, const char* mode) {
  FILE* file = process.records_in_main_thread(CALLER) ? open_random_stream(path, mode) : nullptr;
  return file ? file : open_by_name(CALLER, path, mode);
}

// Those of C++ streams, which read from the descriptor, come by fopen64.
HOLDFAST_REPLACES FILE* fopen64(const char* path, const char* mode) { return open_by_name(CALLER, path, mode); }

HOLDFAST_REPLACES FILE* freopen(const char* path, const char* mode, FILE* stream) { return open_again(CALLER, path, mode, stream); }
HOLDFAST_REPLACES FILE* freopen64(const char* path, const char* mode, FILE* stream) { return open_again(CALLER, path, mode, stream); }
