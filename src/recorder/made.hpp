// Files and directories that this incarnation has made by itself, in whatever thread and by whatever name. Noted while it replays: what it removes or renames then is
// its own, or another rank's.
#pragma once
#include <sys/stat.h>

namespace hf::recorder {

void note_made(int directory, const char* path);  // what a thread has made under this name
void note_made(int fd);
bool was_made(const struct statx& status);  // STATX_INO and STATX_BTIME are asked for
bool has_had_children();                    // processes: what they make is not noted

}  // namespace hf::recorder
