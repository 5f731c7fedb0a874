// Files that the run before made in a directory that is gone now: another rank has removed it since, as a directory that one rank makes for the files of all. They are
// made again out of sight, for this rank alone. docs/recorder.md, Files.
#pragma once
#include <errno.h>

#include "recorder/names.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

bool make_out_of_sight(const char* path, Name& name);  // empty, if it is not there; false: it cannot be made
void drop_out_of_sight(Name& name);

// Where the file of a name is to be opened.
class Where {
 public:
  explicit Where(const char* path);
  const char* path() const { return link_[0] ? link_ : path_; }

 private:
  const char* path_;
  char link_[32] = {};
};

// open(path), by which the run before made the file. False: errno says why not.
template <class Open>
bool make_again(const char* path, Name& name, Open open) {
  if (open(path)) {
    drop_out_of_sight(name);
    return true;
  }
#ifndef HOLDFAST_MUTATE_DIRECTORIES_STAY
  if (errno == ENOENT && make_out_of_sight(path, name)) return open(Where(path).path());
#endif
  return false;
}

// The n-th time that a file of this name is opened by what makes it where it is not there.
template <class Open>
bool open_by_making(const char* path, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path);
  const unsigned occurrence = name->steps[static_cast<unsigned>(FileStep::written)]++;
  FileState state;
  if (process.recording.replay_file(FileStep::written, name->hash, occurrence, state)) return make_again(path, *name, open);
  if (!open(path)) return false;
  drop_out_of_sight(*name);
  process.recording.record_file(FileStep::written, name->hash, {0, 0});
  return true;
}

}  // namespace hf::recorder
