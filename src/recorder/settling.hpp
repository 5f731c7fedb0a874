// What a replay does to files out of sight, and the run before has done to the files themselves (appended.hpp, updates.hpp), until this rank has come as far as its predecessors.
#pragma once
#include <sys/stat.h>

#include "recorder/names.hpp"
#include "wire/recorder.hpp"

namespace hf::recorder {

// A file or a directory has been renamed. Nothing is out of sight of `to`.
void follow_renamed(const char* from, const char* to);
void settle(Name& name);  // before this rank does something to the file that the run before did not
void settle(const char* path);
void settle_below(const char* path);  // in that directory
const struct stat* in_sight_of(dev_t device, ino_t inode);  // of what is out of sight: which file the program is to take it for; null: the file that it is
void settle_no_more(const Name& name);  // the file has been removed, or the name is another one's
bool come_as_far(wire::ReplayEnd end);  // true: nothing is out of sight any more

}  // namespace hf::recorder
