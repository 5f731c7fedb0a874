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

// What the file out of sight is.
enum class Instead : std::uint8_t {
  made,          // what the run before made in a directory that is gone
  kept,          // what was read in the run before (kept.hpp)
  directory,     // an empty one (opened.hpp)
  appended,      // what this rank adds to the file (appended.hpp)
  updated        // what this rank writes at places of it (updates.hpp)
};

struct Name {
  std::uint64_t hash = 0;  // 0: free
  std::uint32_t steps[file_steps] = {};
  bool made_here = false;  // all that the file contains is this incarnation's
  int out_of_sight = 0;    // not 0: a descriptor of the file that the name means in this replay (gone.hpp)
  Instead instead = Instead::made;
  bool is_kept = false;          // the file's contents of this sum have been recorded
  std::int64_t kept_sum = 0;
  ClosedFile closed;  // by this incarnation, which had made it

  void set_in_sight() {
    out_of_sight = 0;
    instead = Instead::made;
  }
  void set_out_of_sight(int fd, Instead what) {
    out_of_sight = fd;
    instead = what;
  }
  std::uint32_t& count(FileStep step) { return steps[static_cast<unsigned>(step)]; }
  std::uint32_t count(FileStep step) const { return steps[static_cast<unsigned>(step)]; }
};
constexpr std::size_t names_max = 1 << 16;

std::uint64_t hash_of(const char* path, std::uint64_t hash = 14695981039346656037u);  // of all that it is called; ./a//b is a/b
Name* name_of(std::uint64_t hash);  // null: there are too many
bool put_from_root(const char* path, char (&to)[4096]);         // false: it is too long
bool put_renamed(const char* to, const char* rest, char (&path)[4096]);  // `to` from the root, and the rest behind it; false: it is too long, and `path` is as it was
const char* rest_below(const char* path, std::uint64_t above);  // what comes behind the directory, or file, with that hash; null: the path does not lead there

void keep_in_sight(const char* path);  // file_steps.cpp: FileStep::in_sight is recorded, once for each name
void note_entered(const char* path);  // FileStep::entered, of the directory and all that it is in
void note_seen(Name& name);            // FileStep::seen likewise

// A program may give no name at all, which is the system's to refuse. The compiler believes the C library's headers, which say that there is one.
inline bool is_name(const char* path) {
  asm("" : "+r"(path));
  return path != nullptr;
}

inline constexpr std::uint64_t any_process = 2;  // instead of a name's hash: this rank has started a process

// Below /proc, /sys and /dev: what is there is the system's.
bool is_of_system(const char* path);

}  // namespace hf::recorder
