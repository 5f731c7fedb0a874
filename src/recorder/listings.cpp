// What a directory lists (opendir, readdir, scandir, glob), in the main thread: a replay finds the names that the run before found, in the same order, whoever has made or removed files since. It is
// read whole, and recorded, when the directory is opened.
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cstdint>

#include "base/map_apart.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/listings.hpp"

namespace hf::recorder {
namespace {

constexpr std::size_t listing_bytes_max = 1 << 20;  // longer ones are not recorded: each replay finds what is there
constexpr int listings_max = 64;                    // at once

DIR* (*next_fdopendir)(int);
dirent64* (*next_readdir)(DIR*);
int (*next_readdir_r)(DIR*, dirent64*, dirent64**);
int (*next_closedir)(DIR*);
void (*next_rewinddir)(DIR*);
void (*next_seekdir)(DIR*, long);
long (*next_telldir)(DIR*);
int (*next_glob)(const char*, int, int (*)(const char*, int), glob64_t*);
int (*next_scandir)(const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**));

struct Entry {
  ino64_t inode;
  std::uint16_t name_bytes;  // with the 0 at its end, which follows
  unsigned char type;
};

// As it is recorded.
struct Piece {
  std::uint16_t bytes = 0;
  bool last = false, too_long = false;
  std::byte entries[Recording::bytes_max - 4];
};

struct Listing {
  DIR* directory = nullptr;
  int fd = -1;
  char path[4096];  // from the root, as it was opened
  std::byte* entries = nullptr;
  std::size_t bytes = 0, at = 0;
  dirent64 current;
};
Listing all[listings_max];

// By any thread: a stream is used by one at a time. Null: one that is free.
Listing* find(const DIR* directory) {
  for (Listing& one : all) {
    if (__atomic_load_n(&one.directory, __ATOMIC_ACQUIRE) == directory) return &one;
  }
  return nullptr;
}

Listing* listing_of(const DIR* directory) { return directory ? find(directory) : nullptr; }

dirent64* read(Listing& one) {
  Entry entry;
  if (one.bytes - one.at < sizeof entry) return nullptr;
  memcpy(&entry, one.entries + one.at, sizeof entry);
  if (entry.name_bytes > sizeof one.current.d_name || entry.name_bytes > one.bytes - one.at - sizeof entry) return nullptr;
  memcpy(one.current.d_name, one.entries + one.at + sizeof entry, entry.name_bytes);
  one.at += sizeof entry + entry.name_bytes;
  one.current.d_ino = entry.inode;
  one.current.d_off = static_cast<off64_t>(one.at);
  one.current.d_type = entry.type;
  one.current.d_reclen = static_cast<unsigned short>((offsetof(dirent64, d_name) + entry.name_bytes + 7) & ~std::size_t{7});
  return &one.current;
}

bool contains(Listing& one, const char* name) {
  one.at = 0;
  while (const dirent64* entry = read(one)) {
    if (strcmp(entry->d_name, name) == 0) return true;
  }
  return false;
}

bool append(Listing& one, const Piece& piece) {
  if (piece.too_long || piece.bytes > sizeof piece.entries || one.bytes + piece.bytes > listing_bytes_max) return false;
  memcpy(one.entries + one.bytes, piece.entries, piece.bytes);
  one.bytes += piece.bytes;
  return true;
}

bool record(Listing& one, Piece& piece) {
  piece.too_long = one.bytes + piece.bytes > listing_bytes_max;
  piece.last |= piece.too_long;
  process.recording.record_bytes(Call::listing, &piece, offsetof(Piece, entries) + piece.bytes);
  const bool fits = append(one, piece);
  piece.bytes = 0;
  return fits;
}

// Of a record that ends in the middle, after the loss of a node, the rest is what is there now.
bool fill(Listing& one) {
  one.bytes = 0;
  Piece piece;
#ifndef HOLDFAST_MUTATE_LISTED_AGAIN
  for (std::size_t size = sizeof piece; process.recording.replay_bytes(Call::listing, &piece, size); size = sizeof piece) {
    if (!append(one, piece)) return false;
    if (piece.last) return true;
  }
#endif
  const bool has_some = one.bytes > 0;
  piece = {};
  while (const dirent64* found = next(next_readdir, "readdir64")(one.directory)) {
    if (has_some && contains(one, found->d_name)) continue;
    const std::size_t length = strlen(found->d_name) + 1;
    const Entry entry{found->d_ino, static_cast<std::uint16_t>(length), found->d_type};
    if (piece.bytes + sizeof entry + length > sizeof piece.entries && !record(one, piece)) return false;
    memcpy(piece.entries + piece.bytes, &entry, sizeof entry);
    memcpy(piece.entries + piece.bytes + sizeof entry, found->d_name, length);
    piece.bytes = static_cast<std::uint16_t>(piece.bytes + sizeof entry + length);
  }
  piece.last = true;
  return record(one, piece);
}

void drop(Listing& one) {
  ::munmap(one.entries, listing_bytes_max);
  one.entries = nullptr;
  __atomic_store_n(&one.directory, nullptr, __ATOMIC_RELEASE);
}

// False: it is not recorded, or too long.
bool begin(DIR* directory, const char* path) {
  Listing* one = find(nullptr);
  if (!one || !put_from_root(path, one->path)) return false;
  void* entries = map_apart(listing_bytes_max, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (entries == MAP_FAILED) return false;
  one->entries = static_cast<std::byte*>(entries);
  one->fd = ::dirfd(directory);
  __atomic_store_n(&one->directory, directory, __ATOMIC_RELEASE);
  const bool filled = fill(*one);
  one->at = 0;
  if (!filled) drop(*one);
  return filled;
}

void begin_or_rewind(DIR* directory, const char* path) {
  if (!begin(directory, path)) next(next_rewinddir, "rewinddir")(directory);
}

DIR* open_directory(const void* caller, const char* path) {
  const bool recorded = is_plain(caller, AT_FDCWD, path);
  const int fd = open_to_list(caller, path);
  DIR* directory = fd < 0 ? nullptr : next(next_fdopendir, "fdopendir")(fd);
  if (fd >= 0 && !directory) close_by_system(fd);
  if (directory && recorded) aside([=] { begin_or_rewind(directory, path); });
  return directory;
}

dirent64* read_any(DIR* directory) {
  Listing* one = listing_of(directory);
  return one ? read(*one) : next(next_readdir, "readdir64")(directory);
}

int read_into(DIR* directory, dirent64* to, dirent64** result) {
  Listing* one = listing_of(directory);
  if (!one) return next(next_readdir_r, "readdir64_r")(directory, to, result);
  const dirent64* entry = read(*one);
  *result = entry ? static_cast<dirent64*>(memcpy(to, entry, entry->d_reclen)) : nullptr;
  return 0;
}

int close_directory(DIR* directory) {
  if (Listing* one = listing_of(directory)) drop(*one);
  return next(next_closedir, "closedir")(directory);
}

using Names = dirent64**;

void free_all(Names names, std::size_t count) {
  while (count > 0) ::free(names[--count]);
  ::free(names);
}

// False: there is no memory.
bool add_copy(Names& names, std::size_t& count, std::size_t& room, const dirent64* entry) {
  if (count == room) {
    const std::size_t more = room == 0 ? 16 : 2 * room;
    auto* grown = static_cast<Names>(::realloc(names, more * sizeof *names));
    if (!grown) return false;
    names = grown;
    room = more;
  }
  auto* copy = static_cast<dirent64*>(::malloc(entry->d_reclen));
  if (!copy) return false;
  names[count++] = static_cast<dirent64*>(memcpy(copy, entry, entry->d_reclen));
  return true;
}

int scan(const void* caller, const char* path, Names* to, int (*select)(const dirent64*), int (*compare)(const dirent64**, const dirent64**)) {
  if (!is_plain(caller, AT_FDCWD, path)) return next(next_scandir, "scandir64")(path, to, select, compare);
  DIR* directory = open_directory(caller, path);
  if (!directory) return -1;
  Names names = nullptr;
  std::size_t count = 0, room = 0;
  bool enough = true;
  while (const dirent64* entry = enough ? read_any(directory) : nullptr) {
    if (!select || select(entry)) enough = add_copy(names, count, room, entry);
  }
  close_directory(directory);
  if (!enough) {
    free_all(names, count);
    errno = ENOMEM;
    return -1;
  }
  if (compare && count > 1) ::qsort(names, count, sizeof *names, reinterpret_cast<int (*)(const void*, const void*)>(compare));
  *to = names;
  return static_cast<int>(count);
}

// The C library's glob looks past this library, unless it is given functions to look with.
int glob_recorded(const void* caller, const char* pattern, int flags, int (*failed)(const char*, int), glob64_t* found) {
  auto find = [=](int with) { return next(next_glob, "glob64")(pattern, with, failed, found); };
  if ((flags & GLOB_ALTDIRFUNC) != 0 || !process.records_in_main_thread(caller)) return find(flags);
  const glob64_t before = *found;
  found->gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
  found->gl_readdir = [](void* directory) { return ::readdir64(static_cast<DIR*>(directory)); };
  found->gl_closedir = [](void* directory) { ::closedir(static_cast<DIR*>(directory)); };
  found->gl_stat = [](const char* path, struct stat64* to) { return ::stat64(path, to); };
  found->gl_lstat = [](const char* path, struct stat64* to) { return ::lstat64(path, to); };
  const int result = find(flags | GLOB_ALTDIRFUNC);
  found->gl_flags &= ~GLOB_ALTDIRFUNC;
  found->gl_opendir = before.gl_opendir;
  found->gl_readdir = before.gl_readdir;
  found->gl_closedir = before.gl_closedir;
  found->gl_stat = before.gl_stat;
  found->gl_lstat = before.gl_lstat;
  return result;
}

static_assert(sizeof(glob_t) == sizeof(glob64_t));
static_assert(sizeof(dirent) == sizeof(dirent64) && offsetof(dirent, d_name) == offsetof(dirent64, d_name));

}  // namespace

bool put_listed(const void* caller, int directory, const char* name, char (&path)[4096]) {
  if (directory < 0 || !is_name(name) || name[0] == '/' || name[0] == 0 || !process.records_in_main_thread(caller)) return false;
  for (const Listing& one : all) {
    if (!one.directory || one.fd != directory) continue;
    const std::size_t length = strlen(one.path), more = strlen(name) + 1;
    if (length + 1 + more > sizeof path) return false;
    memcpy(path, one.path, length);
    path[length] = '/';
    memcpy(path + length + 1, name, more);
    return true;
  }
  return false;
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES DIR* opendir(const char* path) { return open_directory(CALLER, path); }

HOLDFAST_REPLACES dirent* readdir(DIR* directory) { return reinterpret_cast<dirent*>(read_any(directory)); }
HOLDFAST_REPLACES dirent64* readdir64(DIR* directory) { return read_any(directory); }

HOLDFAST_REPLACES int readdir64_r(DIR* directory, dirent64* to, dirent64** result) { return read_into(directory, to, result); }
HOLDFAST_REPLACES int readdir_r(DIR* directory, dirent* to, dirent** result) {
  return read_into(directory, reinterpret_cast<dirent64*>(to), reinterpret_cast<dirent64**>(result));
}

HOLDFAST_REPLACES int closedir(DIR* directory) { return close_directory(directory); }

HOLDFAST_REPLACES void rewinddir(DIR* directory) {
  Listing* one = listing_of(directory);
  next(next_rewinddir, "rewinddir")(directory);
  if (!one || !process.on_main_thread()) return;
  aside([=] {
    if (!fill(*one)) drop(*one);
    one->at = 0;
  });
}

HOLDFAST_REPLACES void seekdir(DIR* directory, long place) {
  Listing* one = listing_of(directory);
  if (!one) return next(next_seekdir, "seekdir")(directory, place);
  one->at = static_cast<std::size_t>(place) <= one->bytes ? static_cast<std::size_t>(place) : one->bytes;
}

HOLDFAST_REPLACES long telldir(DIR* directory) {
  Listing* one = listing_of(directory);
  return one ? static_cast<long>(one->at) : next(next_telldir, "telldir")(directory);
}

HOLDFAST_REPLACES int glob64(const char* pattern, int flags, int (*failed)(const char*, int), glob64_t* found) {
  return glob_recorded(CALLER, pattern, flags, failed, found);
}
HOLDFAST_REPLACES int glob(const char* pattern, int flags, int (*failed)(const char*, int), glob_t* found) {
  return glob_recorded(CALLER, pattern, flags, failed, reinterpret_cast<glob64_t*>(found));
}

HOLDFAST_REPLACES int scandir64(const char* path, dirent64*** to, int (*select)(const dirent64*), int (*compare)(const dirent64**, const dirent64**)) {
  return scan(CALLER, path, to, select, compare);
}
HOLDFAST_REPLACES int scandir(const char* path, dirent*** to, int (*select)(const dirent*), int (*compare)(const dirent**, const dirent**)) {
  return scan(CALLER, path, reinterpret_cast<dirent64***>(to), reinterpret_cast<int (*)(const dirent64*)>(select),
              reinterpret_cast<int (*)(const dirent64**, const dirent64**)>(compare));
}
