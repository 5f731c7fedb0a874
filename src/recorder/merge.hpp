// A directory that the run before has renamed and this incarnation has made again. What the run before had put into it has the new name already, and perhaps more that was put there
// since, by others too.
#pragma once
#include <cstdint>

namespace hf::recorder {

// What this incarnation has made in `from` is moved into the directory `to`, in place of what has its name there. The rest stays, and `from` with it: it is another rank's, or the
// directory of that name that the run before has come to later. But what an incarnation has left there that was killed in its replay is removed.
void merge(const char* from, const char* to);
// The program has renamed something to `to`: the `occurrence`-th renaming with this hash.
void note_arrival(const char* to, std::uint64_t renaming, unsigned occurrence);

bool is_directory(const char* path);

}  // namespace hf::recorder
