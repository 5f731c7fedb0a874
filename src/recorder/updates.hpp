// Files that are written at places. A replay does so out of sight, from what the file contained when it was opened, until this rank has come as far as its predecessors,
// which have done the same to the file itself: what this rank reads of it meanwhile, and where it ends, is as it was then, and what others have written to it since stays.
// docs/recorder.md, Files.
#pragma once
#include <sys/stat.h>

#include "recorder/names.hpp"
#include "wire/recorder.hpp"

namespace hf::recorder {

std::int64_t identity_at(const char* path);  // which file it is, on any host; 0: none

// It has been opened so, and is not emptied: what it contains is recorded, if the run before had not come to this opening.
void note_update(const char* path);
// The run before had made or emptied it, and it was this file: it is out of sight now, and empty, whatever has its name. False: that is to be done in sight.
bool write_out_of_sight(const char* path, Name& name, std::int64_t identity);
enum class Update { out_of_sight, in_sight, other };  // other: it is not what the run before had opened
Update update_again(const char* path, Name& name, const FileState& before, const FileState& opened);

void drop_if_closed(Name& name);        // what has been written to it since this rank came as far is kept
void leave_updated(Name& name);         // something else is out of sight of the name now; what the program has open is settled as ever
void forget_updated(const Name& name);  // the file has been removed, or the name is another one's
void follow_renamed_updates(const char* from, const char* to);
const struct stat* in_sight_of_updated(dev_t device, ino_t inode);
bool is_gone(const Name& name);  // no name leads to the file that it is out of sight of
// What is written from now on, the predecessors may not have come to; `events`: so with each call, as that is not known before.
void begin_last_call(wire::ReplayEnd end);
bool is_anything_updated();

void settle_updated(const Name& name);
void settle_updates_below(const char* path);
void settle_updates(bool fills);  // `fills`: what they have written to files that are still open may have been lost with their node

}  // namespace hf::recorder
