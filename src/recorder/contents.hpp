// What a file contains, in a number: which file a program reads is told by that, not by its times (another rank may have made the same file again).
#pragma once
#include "recorder/recording.hpp"

namespace hf::recorder {

// Its size, and the sum of all of it, or of 32 places in it when it is larger than 256 KiB.
FileState contents_of(const char* path);
FileState dates_of(const char* path);  // its size, and when it was changed

}  // namespace hf::recorder
