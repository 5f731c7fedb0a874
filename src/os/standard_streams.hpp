// What the program has printed with the C library, before the process ends without its exit functions.
#pragma once

namespace hf::os {

// As fflush(nullptr), which waits for streams that other threads hold, such as one that waits for input: then those of stdout and stderr that nobody
// holds. From any thread.
void flush_streams();

}  // namespace hf::os
