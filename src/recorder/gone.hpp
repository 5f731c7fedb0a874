// Files out of sight, for this rank alone: what the run before made in a directory that is gone now (another rank has removed it since, as one that a rank makes for the files
// of all), what it wrote and wrote over later, which those that live may be reading, and what it read and is another one now (kept.hpp). docs/recorder.md, Files.
#pragma once
#include <errno.h>

#include "recorder/appended.hpp"
#include "recorder/kept.hpp"
#include "recorder/names.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

bool make_out_of_sight(const char* path, Name& name);  // empty, if it is not there; false: it cannot be made
void drop_out_of_sight(Name& name);
void drop_kept(Name& name);  // what was read in the run before
std::int64_t how_written(bool empties);

// Where the file of a name is to be opened.
class Where {
 public:
  explicit Where(const char* path);
  bool is_out_of_sight() const { return link_[0] != 0; }
  const char* path() const { return is_out_of_sight() ? link_ : path_; }

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

template <class Open>
bool write_out_of_sight(const char* path, Name& name, bool empties, Open open) {
  if (empties) drop_out_of_sight(name);
  if (!make_out_of_sight(path, name)) return false;
  name.is_written_over = true;
  name.made_here = false;  // what has this name is another one
  return open(Where(path).path());
}

// The n-th time that a file of this name is opened by what makes it where it is not there, and `empties` it else.
template <class Open>
bool open_by_making(const char* path, bool empties, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path);
  const unsigned occurrence = name->steps[static_cast<unsigned>(FileStep::written)]++;
  FileState state;
  const bool again = process.recording.replay_file(FileStep::written, name->hash, occurrence, state);
  const bool passes = again && (empties || name->is_written_over) && process.recording.was_written_over(name->hash, occurrence);
  if (passes) return write_out_of_sight(path, *name, empties, open);
  if (again && name->is_appended && !empties) return open(Where(path).path());
  if (again && name->is_written_over) drop_out_of_sight(*name);
  if (!again) settle(path);
  if (!again && empties) keep_if_read(path);
  if (!(again ? make_again(path, *name, open) : open(path))) return false;
  if (!again) {
    drop_out_of_sight(*name);
    process.recording.record_file(FileStep::written, name->hash, {how_written(empties), 0});
  }
  if (empties) name->made_here = true;
  return true;
}

}  // namespace hf::recorder
