// The devices of random numbers, for the functions that open files.
#pragma once
#include <stdio.h>

#include <cstddef>

namespace hf::recorder {

void draw_recorded(void* to, std::size_t bytes);                // as getrandom would give the program
ssize_t draw_random(void* to, std::size_t bytes, unsigned flags);  // getrandom, recorded
int note_opened(const char* path, int fd);                      // returns fd
FILE* open_random_stream(const char* path, const char* mode);  // null: it is no such device

}  // namespace hf::recorder
