// What is done to names of files: removed, renamed, linked; and directories (file_steps.hpp).
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/file_steps.hpp"
#include "recorder/listings.hpp"
#include "recorder/made.hpp"
#include "recorder/opened.hpp"

namespace hf::recorder {
namespace {

int (*next_remove)(const char*);
int (*next_unlink)(const char*);
int (*next_unlinkat)(int, const char*, int);
int (*next_mkdir)(const char*, mode_t);
int (*next_mkdirat)(int, const char*, mode_t);
int (*next_rmdir)(const char*);
int (*next_rename)(const char*, const char*);
int (*next_renameat)(int, const char*, int, const char*);
int (*next_renameat2)(int, const char*, int, const char*, unsigned);
int (*next_symlink)(const char*, const char*);
int (*next_symlinkat)(const char*, int, const char*);
int (*next_chdir)(const char*);
int (*next_link)(const char*, const char*);
int (*next_linkat)(int, const char*, int, const char*, int);
int (*next_mkfifo)(const char*, mode_t);
int (*next_mkfifoat)(int, const char*, mode_t);

// What the file has another name for is to be found by that too.
void keep_target(const char* target, const char* path, bool by_link) {
  if (!is_name(target) || !is_name(path)) return;
  const char* slash = strrchr(path, '/');
  char at_path[4096];
  const std::size_t length = slash && target[0] != '/' ? static_cast<std::size_t>(slash - path) + 1 : 0;
  if (length + strlen(target) >= sizeof at_path) return;
  memcpy(at_path, path, length);
  memcpy(at_path + length, target, strlen(target) + 1);
  keep_in_sight(at_path);
  Name* name = by_link ? name_of(hash_of(at_path)) : nullptr;
  if (name) note_seen(*name);
}

int noted(int directory, const char* path, int result) {
  if (result == 0) note_made(directory, path);
  return result;
}

bool was_removed_next(const Name& name) {
  constexpr auto end = end_of(FileStep::directory_removed);
  FileState ended;
  return process.recording.replay_file(end, name.hash, name.count(FileStep::directory_removed), ended) && ended.bytes == 0;
}

// The run before removed this directory next, or one that it is in, and it is not this incarnation's: what is in it now is another rank's.
bool is_of_others(int directory) {
  if (process.recording.is_first()) return false;
  char path[4096];
  if (!put_path_of(directory, path)) return false;
  for (char* slash; (slash = strrchr(path, '/')) && slash[1]; *slash = 0) {
    const Name* name = name_of(hash_of(path));
    if (!name || name->made_here || is_new(path)) return false;
    if (was_removed_next(*name)) return true;
  }
  return false;
}

int unlink_in(int directory, const char* path, int flags) {
  bool leave = is_of_others(directory);
#ifdef HOLDFAST_MUTATE_EMPTY_OTHERS
  leave = false;
#endif
  return leave ? 0 : next(next_unlinkat, "unlinkat")(directory, path, flags);
}

}  // namespace

bool put_path_of(int directory, char (&path)[4096]) {
  char link[32];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  return path[0] == '/';
}

int make_directory(const char* path, mode_t mode) { return noted(AT_FDCWD, path, next(next_mkdir, "mkdir")(path, mode)); }

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int unlink(const char* path) noexcept {
  auto unlink = [=] { return next(next_unlink, "unlink")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::removed, path, unlink) : unlink();
}

HOLDFAST_REPLACES int unlinkat(int directory, const char* path, int flags) noexcept {
  auto unlink = [=] { return next(next_unlinkat, "unlinkat")(directory, path, flags); };
  const FileStep step = (flags & AT_REMOVEDIR) != 0 ? FileStep::directory_removed : FileStep::removed;
  if (is_plain(CALLER, directory, path)) return remove_once(step, path, unlink);
  char whole[4096];
  if (put_listed(CALLER, directory, path, whole)) return remove_once(step, whole, unlink);
  if (!process.records_in_main_thread(CALLER)) return unlink();
  return aside([=] { return unlink_in(directory, path, flags); });
}

HOLDFAST_REPLACES int remove(const char* path) noexcept {
  auto remove = [=] { return next(next_remove, "remove")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::removed, path, remove) : remove();
}

HOLDFAST_REPLACES int mkdir(const char* path, mode_t mode) noexcept {
  auto make = [=] { return make_directory(path, mode); };
  return process.records_in_main_thread(CALLER) ? make_directory_once(path, make) : make();
}

HOLDFAST_REPLACES int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  auto make = [=] { return noted(directory, path, next(next_mkdirat, "mkdirat")(directory, path, mode)); };
  return is_plain(CALLER, directory, path) ? make_directory_once(path, make) : make();
}

HOLDFAST_REPLACES int rmdir(const char* path) noexcept {
  auto remove = [=] { return next(next_rmdir, "rmdir")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::directory_removed, path, remove) : remove();
}

HOLDFAST_REPLACES int rename(const char* from, const char* to) noexcept {
  auto rename = [=](bool) { return next(next_rename, "rename")(from, to); };
  return process.records_in_main_thread(CALLER) ? rename_once(from, to, rename) : rename(false);
}

HOLDFAST_REPLACES int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  auto rename = [=](bool) { return next(next_renameat, "renameat")(from_directory, from, to_directory, to); };
  const bool plain = is_plain(CALLER, from_directory, from) && is_plain(CALLER, to_directory, to);
  return plain ? rename_once(from, to, rename) : rename(false);
}

HOLDFAST_REPLACES int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  auto rename = [=](bool again) {  // again: what has been made of it in the run before is there
    return next(next_renameat2, "renameat2")(from_directory, from, to_directory, to, again ? flags & ~RENAME_NOREPLACE : flags);
  };
  const bool plain = (flags & RENAME_EXCHANGE) == 0 && is_plain(CALLER, from_directory, from) && is_plain(CALLER, to_directory, to);
  return plain ? rename_once(from, to, rename) : rename(false);
}

HOLDFAST_REPLACES int symlink(const char* target, const char* path) noexcept {
  if (process.records_in_main_thread(CALLER)) aside([=] { keep_target(target, path, false); });
  auto make = [=] { return noted(AT_FDCWD, path, next(next_symlink, "symlink")(target, path)); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int mkfifo(const char* path, mode_t mode) noexcept {
  auto make = [=] { return noted(AT_FDCWD, path, next(next_mkfifo, "mkfifo")(path, mode)); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int link(const char* target, const char* path) noexcept {
  if (process.records_in_main_thread(CALLER)) aside([=] { keep_target(target, "", true); });
  auto make = [=] { return next(next_link, "link")(target, path); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int symlinkat(const char* target, int directory, const char* path) noexcept {
  if (is_plain(CALLER, directory, path)) aside([=] { keep_target(target, path, false); });
  auto make = [=] { return noted(directory, path, next(next_symlinkat, "symlinkat")(target, directory, path)); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int mkfifoat(int directory, const char* path, mode_t mode) noexcept {
  auto make = [=] { return noted(directory, path, next(next_mkfifoat, "mkfifoat")(directory, path, mode)); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int linkat(int target_directory, const char* target, int directory, const char* path, int flags) noexcept {
  if (is_plain(CALLER, target_directory, target)) aside([=] { keep_target(target, "", true); });
  auto make = [=] { return next(next_linkat, "linkat")(target_directory, target, directory, path, flags); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int chdir(const char* path) noexcept {
  if (is_plain(CALLER, AT_FDCWD, path)) aside([=] { note_entered(path); });
  return next(next_chdir, "chdir")(path);
}
