#include "recorder/merge.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/appended.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"

namespace hf::recorder {
namespace {

constexpr unsigned depth_max = 16;
constexpr std::size_t batch_bytes = 2048;

struct Path {
  char text[4096];
  std::size_t length = 0;
  bool add(const char* name) {
    const std::size_t more = strlen(name);
    if (length + more + 2 > sizeof text) return false;
    if (length > 0) text[length++] = '/';
    memcpy(text + length, name, more + 1);
    length += more;
    return true;
  }
  void cut(std::size_t to) { text[length = to] = 0; }
};

// This rank has made the directory, and the run before did not come to make one of that name again.
bool is_left_over(const char* path) {
  const Name* name = name_of(hash_of(path));
  if (!name || name->count(FileStep::directory_made) + name->count(FileStep::arrived) == 0) return false;
  return !comes_again(*name, FileStep::directory_made) && !comes_again(*name, FileStep::arrived);
}

void merge_entries(Path& from, Path& to, unsigned depth);

// The file that is out of sight is `to`, whole at once. Not with those below it on the stack.
[[gnu::noinline]] bool put_in_place(const Name& name, const char* from, const char* to) {
  char link[32], beside[4200];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", name.out_of_sight);
  ::snprintf(beside, sizeof beside, "%s.holdfast.%d", to, name.out_of_sight);
  struct stat was;
  if (system_status(AT_FDCWD, from, &was, AT_SYMLINK_NOFOLLOW) != 0) return false;
  ::syscall(SYS_fchmod, name.out_of_sight, was.st_mode & 07777);
  if (::syscall(SYS_linkat, AT_FDCWD, link, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) != 0) return false;
  if (::syscall(SYS_renameat2, AT_FDCWD, beside, AT_FDCWD, to, 0) != 0) {
    ::syscall(SYS_unlinkat, AT_FDCWD, beside, 0);
    return false;
  }
  note_made(name.out_of_sight);
  return true;
}

// What this incarnation has made of a file of which there is more in `from`. A log that is open is followed.
void put_out_of_sight(Name& name, const char* from, const char* to, bool left_over) {
  const bool whole = !is_in_use(name.out_of_sight) && (name.instead == Instead::updated || fill_appended(name));
  if (whole && put_in_place(name, from, to)) {
    mark_made(to);
    mark_gone(from);
  }
  if (left_over) ::syscall(SYS_unlinkat, AT_FDCWD, from, 0);
}

void move_entry(Path& from, Path& to, bool left_over, unsigned depth) {
  Name* name = name_of(hash_of(from.text));
  if (name && (name->instead == Instead::appended || name->instead == Instead::updated)) {
    put_out_of_sight(*name, from.text, to.text, left_over);
  } else if (is_made_now(from.text) && ::syscall(SYS_renameat2, AT_FDCWD, from.text, AT_FDCWD, to.text, 0) == 0) {
    if (is_made_here(from.text)) mark_made(to.text);
    mark_gone(from.text);
  } else if (depth < depth_max) {
    merge_entries(from, to, depth + 1);
  }
}

void move_batch(const char* batch, long bytes, Path& from, Path& to, bool left_over, unsigned depth) {
  const std::size_t from_length = from.length, to_length = to.length;
  for (long at = 0; at < bytes;) {
    const auto* entry = reinterpret_cast<const dirent64*>(batch + at);
    at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (from.add(entry->d_name) && to.add(entry->d_name)) move_entry(from, to, left_over, depth);
    from.cut(from_length);
    to.cut(to_length);
  }
}

// Of nothing but a directory. Without the C library's streams of directories, which take memory of the program's.
void merge_entries(Path& from, Path& to, unsigned depth) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, from.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) return;
  const bool left_over = is_left_over(from.text);
  alignas(dirent64) char batch[batch_bytes];
  for (long bytes; (bytes = ::syscall(SYS_getdents64, fd, batch, sizeof batch)) > 0;) move_batch(batch, bytes, from, to, left_over, depth);
  ::syscall(SYS_close, fd);
  if (left_over || is_made_now(from.text)) ::syscall(SYS_unlinkat, AT_FDCWD, from.text, AT_REMOVEDIR);
}

}  // namespace

void merge(const char* from, const char* to) {
  Path from_path, to_path;
  if (from_path.add(from) && to_path.add(to)) merge_entries(from_path, to_path, 0);
}

void note_arrival(const char* to, std::uint64_t renaming, unsigned occurrence) {
  Name* name = name_of(hash_of(to));
  if (!name) return;
  const FileState own{static_cast<std::int64_t>(renaming), occurrence};
  FileState known = own;
  const bool replays = process.recording.replay_file(FileStep::arrived, name->hash, name->count(FileStep::arrived), known);
  if (known.bytes != own.bytes || known.changed_ns != own.changed_ns || (!replays && !is_directory(to))) return;
  ++name->count(FileStep::arrived);
  if (!replays) process.recording.record_file(FileStep::arrived, name->hash, own);
}

bool is_directory(const char* path) {
  struct stat status;
  return system_status(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace hf::recorder
