// Files that the run before has added to, perhaps as others. A replay adds to one out of sight, until this rank has come as far as its predecessors; then what they may
// not have come to, and the file has not got, is added to it, and the program goes on with the file itself. docs/recorder.md, Files.
#pragma once
#include <sys/stat.h>

#include "recorder/names.hpp"

namespace hf::recorder {

// The file was `bytes` long when it was opened first. False: there are too many, or it cannot be made.
bool append_out_of_sight(const char* path, Name& name, std::int64_t bytes);
void append_again(Name& name, std::int64_t bytes);  // the run before has opened it once more, and it was so long
void note_added(const Name& name);                  // the run before has closed it: what is out of sight, it has added
bool is_anything_appended();
void begin_last_call_appended();                    // the same of all
void leave_appended(Name& name);         // something else is out of sight of the name now; what the program has open is settled as ever
void forget_appended(const Name& name);  // the file has been removed, or the name is another one's
bool fill_appended(Name& name);       // it is to be read: with what was in it. False: that cannot be had
// A file or a directory has been renamed. Nothing is out of sight of `to`. What was closed before is in the file, and is not followed.
void follow_renamed_appended(const char* from, const char* to);
const struct stat* in_sight_of_appended(dev_t device, ino_t inode);
Name* appended_at(int fd);  // what this descriptor of the program is about; null: nothing that is out of sight
int cut_appended(Name& name, std::int64_t bytes, bool in_sight);  // as ftruncate. `in_sight`: and the file itself, if it is not cut yet
void settle_appended(Name& name);
void settle_appended_below(const char* path);
void settle_all_appended();

}  // namespace hf::recorder
