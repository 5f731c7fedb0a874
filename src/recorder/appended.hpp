// Files that the run before has added to. A replay adds to one out of sight, until this rank has come as far as its predecessors; then what is more than the file has
// is added to it, and the program goes on with the file itself. If the file has got anything else meanwhile, the job ends. docs/recorder.md, Files.
#pragma once
#include "recorder/names.hpp"

namespace hf::recorder {

// The file was `bytes` long when it was opened first. False: there are too many, or it cannot be made.
bool append_out_of_sight(const char* path, Name& name, std::int64_t bytes);
void forget_appended(const Name& name);  // what is out of sight is dropped
bool fill_appended(Name& name);       // it is to be read: with what was in it. False: that cannot be had
// A file or a directory has been renamed. Nothing is out of sight of `to`. What was closed before is in the file, and is not followed.
void follow_renamed_appended(const char* from, const char* to);
Name* appended_at(int fd);  // what this descriptor of the program is about; null: nothing that is out of sight
int cut_appended(Name& name, std::int64_t bytes, bool in_sight);  // as ftruncate. `in_sight`: and the file itself, if it is not cut yet
void settle_appended(Name& name);
void settle_appended_below(const char* path);
bool settle_all_appended(bool is_past);  // true: nothing is left. `is_past`: this rank is known to have come as far

}  // namespace hf::recorder
