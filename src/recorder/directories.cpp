// What is done to names of files: removed, renamed, linked; and directories (file_steps.hpp).
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/file_steps.hpp"

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
int (*next_link)(const char*, const char*);
int (*next_linkat)(int, const char*, int, const char*, int);
int (*next_mkfifo)(const char*, mode_t);
int (*next_mkfifoat)(int, const char*, mode_t);

// The directory in which names are looked up by the process, or a name that needs none.
bool is_plain(const void* caller, int directory, const char* path) {
  return is_name(path) && (directory == AT_FDCWD || path[0] == '/') && process.records_in_main_thread(caller);
}

}  // namespace

int make_directory(const char* path, mode_t mode) { return next(next_mkdir, "mkdir")(path, mode); }

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int unlink(const char* path) noexcept {
  auto unlink = [=] { return next(next_unlink, "unlink")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::removed, path, unlink) : unlink();
}

HOLDFAST_REPLACES int unlinkat(int directory, const char* path, int flags) noexcept {
  auto unlink = [=] { return next(next_unlinkat, "unlinkat")(directory, path, flags); };
  const FileStep step = (flags & AT_REMOVEDIR) != 0 ? FileStep::directory_removed : FileStep::removed;
  return is_plain(CALLER, directory, path) ? remove_once(step, path, unlink) : unlink();
}

HOLDFAST_REPLACES int remove(const char* path) noexcept {
  auto remove = [=] { return next(next_remove, "remove")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::removed, path, remove) : remove();
}

HOLDFAST_REPLACES int mkdir(const char* path, mode_t mode) noexcept {
  auto make = [=] { return make_directory(path, mode); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::directory_made, path, make) : make();
}

HOLDFAST_REPLACES int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  auto make = [=] { return next(next_mkdirat, "mkdirat")(directory, path, mode); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::directory_made, path, make) : make();
}

HOLDFAST_REPLACES int rmdir(const char* path) noexcept {
  auto remove = [=] { return next(next_rmdir, "rmdir")(path); };
  return process.records_in_main_thread(CALLER) ? remove_once(FileStep::directory_removed, path, remove) : remove();
}

HOLDFAST_REPLACES int rename(const char* from, const char* to) noexcept {
  auto rename = [=] { return next(next_rename, "rename")(from, to); };
  return process.records_in_main_thread(CALLER) ? rename_once(from, to, rename) : rename();
}

HOLDFAST_REPLACES int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  auto rename = [=] { return next(next_renameat, "renameat")(from_directory, from, to_directory, to); };
  const bool plain = is_plain(CALLER, from_directory, from) && is_plain(CALLER, to_directory, to);
  return plain ? rename_once(from, to, rename) : rename();
}

HOLDFAST_REPLACES int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  auto rename = [=] { return next(next_renameat2, "renameat2")(from_directory, from, to_directory, to, flags); };
  const bool plain = is_plain(CALLER, from_directory, from) && is_plain(CALLER, to_directory, to);
  return plain ? rename_once(from, to, rename) : rename();
}

HOLDFAST_REPLACES int symlink(const char* target, const char* path) noexcept {
  auto make = [=] { return next(next_symlink, "symlink")(target, path); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int mkfifo(const char* path, mode_t mode) noexcept {
  auto make = [=] { return next(next_mkfifo, "mkfifo")(path, mode); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int link(const char* target, const char* path) noexcept {
  auto make = [=] { return next(next_link, "link")(target, path); };
  return process.records_in_main_thread(CALLER) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int symlinkat(const char* target, int directory, const char* path) noexcept {
  auto make = [=] { return next(next_symlinkat, "symlinkat")(target, directory, path); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int mkfifoat(int directory, const char* path, mode_t mode) noexcept {
  auto make = [=] { return next(next_mkfifoat, "mkfifoat")(directory, path, mode); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}

HOLDFAST_REPLACES int linkat(int target_directory, const char* target, int directory, const char* path, int flags) noexcept {
  auto make = [=] { return next(next_linkat, "linkat")(target_directory, target, directory, path, flags); };
  return is_plain(CALLER, directory, path) ? make_once(FileStep::linked, path, make) : make();
}
