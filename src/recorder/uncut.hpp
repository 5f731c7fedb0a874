// A file that the run before has emptied and written is not emptied again: the replay writes the same bytes to the same places, and what others read of it, or have written
// to it, stays. The program is told the end that it would have by now: where it seeks to it, or asks by the descriptor. docs/recorder.md, Files.
#pragma once
#include <stdio.h>

#include <cstdint>

namespace hf::recorder {

inline constexpr int uncut_max = 1024;  // descriptors from there on are emptied as ever
void note_uncut(int fd);                // just opened; any thread, as all of these
void forget_uncut(int fd);              // it is closed, or another file
void set_uncut_end(int fd, std::int64_t bytes);  // the file has been cut there
void cut_uncut(int fd);  // where it would end: a copy of the descriptor is made, and what is done by that is not followed
std::int64_t uncut_bytes(int fd, std::int64_t bytes);  // the size of the file, if it has so many
int move_apart(int fd);                                      // to a number that the program is not given; negative: it cannot be, and is closed
int open_apart(const char* path);                            // to be written to; a descriptor that the program is not given
void take_over(FILE* stream, int fd, const char* mode);      // the stream is about the file that was opened apart

// As open(path, mode), a "w" without "+", of a file that is there, with all that is in it. The stream's memory and descriptor are the same. Null: it cannot be.
template <class Open>
FILE* open_uncut(const char* path, const char* mode, Open open) {
  const int fd = open_apart(path);
  FILE* file = fd < 0 ? nullptr : open("/dev/null", mode);
  if (file) take_over(file, fd, mode);
  return file;
}

}  // namespace hf::recorder
