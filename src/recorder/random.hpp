// The devices of random numbers, for the functions that open files.
#pragma once
#include <stdio.h>

namespace hf::recorder {

int note_opened(const char* path, int fd);                      // returns fd
FILE* open_random_stream(const char* path, const char* mode);  // null: it is no such device

}  // namespace hf::recorder
