// What this incarnation has done to the file of each name so far: how often each step, so that the n-th is found among what the run before
// recorded. A name that does not begin with / is one in the directory in which the program is then. Their number is bounded.
#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "recorder/recording.hpp"

namespace hf::recorder {

// Which file it was when it was closed, and how it was.
struct ClosedFile {
  std::uint64_t inode = 0;  // 0: none
  std::int64_t bytes = 0, changed_ns = 0;
  bool operator==(const ClosedFile&) const = default;
};
ClosedFile closed_file_of(const struct stat& status);

struct Name {
  std::uint64_t hash = 0;  // 0: free
  std::uint32_t steps[static_cast<unsigned>(FileStep::directory_opened) + 1] = {};
  bool made_here = false;  // all that the file contains is this incarnation's
  int out_of_sight = 0;    // not 0: a descriptor of the file that the name means in this replay (gone.hpp)
  bool is_kept_again = false;    // that one is what was read in the run before (kept.hpp)
  bool is_written_over = false;  // that one is what was written in the run before, and then written over
  bool is_appended = false;      // that one is what this rank adds to the file (appended.hpp)
  bool is_kept = false;          // the file's contents of this sum have been recorded
  std::int64_t kept_sum = 0;
  ClosedFile closed;  // by this incarnation, which had made it

  std::uint32_t& count(FileStep step) { return steps[static_cast<unsigned>(step)]; }
  std::uint32_t count(FileStep step) const { return steps[static_cast<unsigned>(step)]; }
};
constexpr std::size_t names_max = 1 << 16;

std::uint64_t hash_of(const char* path, std::uint64_t hash = 14695981039346656037u);  // of all that it is called; ./a//b is a/b
Name* name_of(std::uint64_t hash);  // null: there are too many

void keep_in_sight(const char* path);  // file_steps.cpp: FileStep::in_sight is recorded, once for each name
void note_changed(const char* path);   // FileStep::changed likewise

// A program may give no name at all, which is the system's to refuse. The compiler believes the C library's headers, which say that there is one.
inline bool is_name(const char* path) {
  asm("" : "+r"(path));
  return path != nullptr;
}

// Below /proc, /sys and /dev: what is there is the system's.
bool is_of_system(const char* path);

}  // namespace hf::recorder
