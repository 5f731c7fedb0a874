// Files out of sight, for this rank alone: what the run before made in a directory that is gone now (another rank has removed it since, as one that a rank makes for the files
// of all), and what it read and is another one now (kept.hpp). docs/recorder.md, Files.
#pragma once
#include <errno.h>

#include "recorder/kept.hpp"
#include "recorder/names.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

bool make_out_of_sight(const char* path, Name& name);  // empty, if it is not there; false: it cannot be made
void drop_out_of_sight(Name& name);
void drop_kept(Name& name);  // what was read in the run before

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
  drop_kept(name);
  if (open(path)) {
    drop_out_of_sight(name);
    return true;
  }
#ifndef HOLDFAST_MUTATE_DIRECTORIES_STAY
  if (errno == ENOENT && make_out_of_sight(path, name)) return open(Where(path).path());
#endif
  return false;
}

// The n-th time that a file of this name is opened by what makes it where it is not there, and `empties` it else.
template <class Open>
bool open_by_making(const char* path, bool empties, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path);
  const unsigned occurrence = name->steps[static_cast<unsigned>(FileStep::written)]++;
  FileState state;
  const bool again = process.recording.replay_file(FileStep::written, name->hash, occurrence, state);
  if (!again && empties) keep_if_read(path);
  if (!(again ? make_again(path, *name, open) : open(path))) return false;
  if (!again) {
    drop_out_of_sight(*name);
    process.recording.record_file(FileStep::written, name->hash, {0, 0});
  }
  if (empties) name->made_here = true;
  return true;
}

}  // namespace hf::recorder
