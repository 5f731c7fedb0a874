// Directories that are opened to be read, as by a program that syncs them, lists them or removes what is in them. One that the run before had opened, or looked at and
// removed then, and that is gone now, is an empty one without a name. docs/recorder.md, Files.
#pragma once
#include <fcntl.h>

#include "recorder/gone.hpp"
#include "recorder/names.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

// In the run before, if it has come to this, or now.
bool opens_directory(const char* path, int flags);

bool stand_in_for_directory(Name& name, mode_t mode);  // out of sight, until it is removed

// The run before made this directory next, or found it made, and others have removed or replaced it since: it is out of sight then. How that ended, an error number
// or 0; negative: it is not so, and nothing was done.
int made_and_gone(const char* path);

template <class Make>
int make_directory_once(const char* path, Make make) {
  const int error = is_name(path) ? aside([=] { return made_and_gone(path); }) : -1;
  if (error < 0) return make_once(FileStep::directory_made, path, make);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// mkdir, and its removal, of a name that nobody else has.
class EmptyDirectory {
 public:
  explicit EmptyDirectory(mode_t mode = 0700);
  ~EmptyDirectory();
  EmptyDirectory(const EmptyDirectory&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[64];
};

// What opens_directory is true of. `open` is given the path and the flags to open with.
template <class Open>
int open_directory(const char* path, int flags, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path, flags);
  const std::uint32_t used = name->count(FileStep::used);
  std::uint32_t& opened = name->count(FileStep::directory_opened);
  FileState before;
  if (!process.recording.replay_file(FileStep::directory_opened, name->hash, opened, before)) {
    const int fd = open(path, flags), error = errno;
    process.recording.record_file(FileStep::directory_opened, name->hash, {fd < 0 ? -error : 0, used});
    ++opened;
    errno = error;
    return fd;
  }
  if (before.changed_ns != used) return open(path, flags);  // that is to come later
  ++opened;
  if (before.bytes < 0) {
    errno = static_cast<int>(-before.bytes);
    return -1;
  }
  const int fd = open(Where(path).path(), flags);
  return fd >= 0 || (errno != ENOENT && errno != ENOTDIR) ? fd : open(EmptyDirectory().path(), flags);
}

}  // namespace hf::recorder
