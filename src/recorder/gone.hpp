// Files out of sight, for this rank alone: what the run before made in a directory that is gone now (another rank has removed it since, as one that a rank makes for the files
// of all), what it read and is another one now (kept.hpp), what it wrote (updates.hpp) and added (appended.hpp). docs/recorder.md, Files.
#pragma once
#include <errno.h>

#include "recorder/file_steps.hpp"
#include "recorder/kept.hpp"
#include "recorder/names.hpp"
#include "recorder/process.hpp"
#include "recorder/settling.hpp"
#include "recorder/updates.hpp"

namespace hf::recorder {

int open_unnamed(const char* path);                          // near the path, else in memory; negative: it cannot be made
bool make_out_of_sight(const char* path, Name& name);  // empty, if it is not there
bool is_out_of_sight(const Name& name);                               // whatever is there
void drop_out_of_sight(Name& name);
bool move_out_of_sight(Name& name, const char* to);  // it is out of sight of that name now. False: there are too many names
bool is_in_one_gone(const char* path);  // opened.cpp: the file is in a directory that is out of sight
void drop_kept(Name& name);  // what was read in the run before
void drop_if_over(Name& name);  // it is closed: if the run before has not opened it again, it needs no descriptor and no room any more
int move_apart(int fd);  // to a number that the program is not given; negative: it cannot be, and is closed

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

// These are given what opens a file: open(path) is true, or errno says why it is not.

// By which the run before made the file. `closed`: it was closed again, and nothing more was written to it then.
template <class Open>
bool make_again(const char* path, Name& name, bool closed, Open open) {
  drop_kept(name);
  if (closed && is_directory_there(path)) keep_in_sight(path);  // that it is complete is known already, and is not so until this incarnation closes it
  if (open(path)) {
    drop_out_of_sight(name);
    return true;
  }
#ifndef HOLDFAST_MUTATE_DIRECTORIES_STAY
  if (errno == ENOENT && (closed || is_in_one_gone(path)) && make_out_of_sight(path, name)) return open(Where(path).path());
#endif
  return false;
}

// The run before had not come to this opening.
template <class Open>
bool open_first(const char* path, Name& name, unsigned occurrence, bool empties, Open open) {
  settle(path);
  if (empties) keep_if_read(path);
  FileState state;
  if (!process.recording.replay_file(FileStep::opening, name.hash, occurrence, state)) process.recording.record_file(FileStep::opening, name.hash, {0, 0});
  process.await_stable();
  const bool done = open(path);
  const int error = errno;
  if (done) drop_out_of_sight(name);
  process.recording.record_file(FileStep::written, name.hash, {done ? 0 : -std::int64_t{error}, done ? identity_at(path) : 0});
  if (done && empties) name.made_here = true;
  errno = error;
  return done;
}

// The n-th time that a file of this name is opened by what makes it where it is not there, or empties it.
template <class Open>
bool open_by_making(const char* path, bool empties, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path);
  const unsigned occurrence = name->count(FileStep::written)++;
  FileState state;
  if (!process.recording.replay_file(FileStep::written, name->hash, occurrence, state)) return open_first(path, *name, occurrence, empties, open);
  if (state.bytes < 0) {
    open("");  // takes memory and gives it back, as that which failed
    errno = static_cast<int>(-state.bytes);
    return false;
  }
  if (empties ? write_out_of_sight(path, *name, state.changed_ns) : is_out_of_sight(*name)) return open(Where(path).path());
  const bool closed = process.recording.was_closed(FileStep::closed, name->hash, occurrence);
  if (!make_again(path, *name, closed, open)) return false;
  if (empties) name->made_here = true;
  return true;
}

}  // namespace hf::recorder
