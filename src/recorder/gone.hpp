// Files out of sight, for this rank alone: what the run before made in a directory that is gone now (another rank has removed it since, as one that a rank makes for the files
// of all), what it wrote to the end, which those that live may be reading, or have changed since, and what it read and is another one now (kept.hpp). docs/recorder.md, Files.
#pragma once
#include <errno.h>

#include "recorder/appended.hpp"
#include "recorder/kept.hpp"
#include "recorder/names.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

// Empty, if it is not there; `anywhere`: in memory too. False: it cannot be made.
bool make_out_of_sight(const char* path, Name& name, bool anywhere);
void drop_out_of_sight(Name& name);
void drop_kept(Name& name);  // what was read in the run before
void drop_if_over(Name& name);  // it is closed: if the run before has not opened it again, it needs no descriptor and no room any more
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

// What opens a file: open(path, keeps) is true, or errno says why it is not; `keeps`: what is in it stays, though the program empties it.
struct Opening {
  bool empties;
  bool only_writes;  // at places, not behind what is there; and this rank does not use it later
};

// By which the run before made the file. `closed`: it was closed again, and nothing more was written to it then.
template <class Open>
bool make_again(const char* path, Name& name, bool closed, Opening how, Open open) {
  drop_kept(name);
  if (closed) keep_in_sight(path);  // that it is complete is known already, and is not so until this incarnation closes it
#ifdef HOLDFAST_MUTATE_EMPTY_AGAIN
  how.only_writes = false;
#endif
  if (open(path, how.empties && how.only_writes && !name.made_here)) {
    drop_out_of_sight(name);
    return true;
  }
#ifndef HOLDFAST_MUTATE_DIRECTORIES_STAY
  if (closed && errno == ENOENT && make_out_of_sight(path, name, true)) return open(Where(path).path(), false);
#endif
  return false;
}

// The run before had not come to this opening.
template <class Open>
bool open_first(const char* path, Name& name, bool empties, Open open) {
  settle(path);
  if (empties) keep_if_read(path);
  const bool done = open(path, false);
  const int error = errno;
  if (done) drop_out_of_sight(name);
  process.recording.record_file(FileStep::written, name.hash, {done ? how_written(empties) : -std::int64_t{error}, 0});
  if (done && empties) name.made_here = true;
  errno = error;
  return done;
}

// What is complete, or was written over later. False: it is to be done in sight.
bool pass_out_of_sight(const char* path, Name& name, unsigned occurrence, bool empties);

// The n-th time that a file of this name is opened by what makes it where it is not there.
template <class Open>
bool open_by_making(const char* path, Opening how, Open open) {
  Name* name = name_of(hash_of(path));
  if (!name) return open(path, false);
  const unsigned occurrence = name->count(FileStep::written)++;
  FileState state;
  if (!process.recording.replay_file(FileStep::written, name->hash, occurrence, state)) return open_first(path, *name, how.empties, open);
  if (state.bytes < 0) {
    open("", false);  // takes memory and gives it back, as that which failed
    errno = static_cast<int>(-state.bytes);
    return false;
  }
  if (pass_out_of_sight(path, *name, occurrence, how.empties)) return open(Where(path).path(), false);
  if (name->is_appended && !how.empties) return open(Where(path).path(), false);
  if (name->is_written_over) drop_out_of_sight(*name);
  const bool closed = process.recording.was_closed(FileStep::closed, name->hash, occurrence, false);
  how.only_writes = how.only_writes && !process.recording.replay_file(FileStep::written, name->hash, occurrence + 1, state) &&
                    !process.recording.is_used_after(name->hash, occurrence);
  if (!make_again(path, *name, closed, how, open)) return false;
  if (how.empties) name->made_here = true;
  return true;
}

}  // namespace hf::recorder
