#include "recorder/names.hpp"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hf::recorder {

static Name names[names_max];

static std::uint64_t add(char c, std::uint64_t hash) { return (hash ^ static_cast<unsigned char>(c)) * 1099511628211u; }

// Its parts, each with a / before it: without those that mean nothing, as in ./a//b.
static std::uint64_t add(const char* path, std::uint64_t hash) {
  while (*path) {
    const std::size_t length = strcspn(path, "/");
    const bool means_nothing = length == 0 || (length == 1 && path[0] == '.');
    if (!means_nothing) hash = add('/', hash);
    for (std::size_t i = 0; i < length && !means_nothing; ++i) hash = add(path[i], hash);
    path += path[length] == '/' ? length + 1 : length;
  }
  return hash;
}

std::uint64_t hash_of(const char* path, std::uint64_t hash) {
  char here[4096];
  if (path[0] != '/' && ::syscall(SYS_getcwd, here, sizeof here) > 0) hash = add(here, hash);
  hash = add(path, hash);
  return hash == 0 ? 1 : hash;
}

ClosedFile closed_file_of(const struct stat& status) {
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Name* name_of(std::uint64_t hash) {
  for (std::size_t i = 0; i < 64; ++i) {
    Name& name = names[(hash + i) % names_max];
    if (name.hash == 0) name.hash = hash;
    if (name.hash == hash) return &name;
  }
  return nullptr;
}

bool put_from_root(const char* path, char (&to)[4096]) {
  const std::size_t length = strlen(path);
  std::size_t at = 0;
  if (path[0] != '/') {
    if (::syscall(SYS_getcwd, to, sizeof to) <= 0) return false;
    at = strlen(to);
    if (at + 1 < sizeof to) to[at++] = '/';
  }
  if (at + length >= sizeof to) return false;
  memcpy(to + at, path, length + 1);
  return true;
}

bool put_renamed(const char* to, const char* rest, char (&path)[4096]) {
  char renamed[4096];
  if (!put_from_root(to, renamed) || strlen(renamed) + strlen(rest) >= sizeof renamed) return false;
  strcat(renamed, rest);
  memcpy(path, renamed, sizeof path);
  return true;
}

const char* rest_below(const char* path, std::uint64_t hash) {
  char above[4096];
  for (std::size_t length = 1;; ++length) {
    if (path[length] != '/' && path[length] != 0) continue;
    memcpy(above, path, length);
    above[length] = 0;
    if (hash_of(above) == hash) return path + length;
    if (path[length] == 0) return nullptr;
  }
}

bool is_of_system(const char* path) {
  for (const char* special : {"/proc/", "/sys/", "/dev/"}) {
    if (strncmp(path, special, strlen(special)) == 0) return true;
  }
  return false;
}

}  // namespace hf::recorder
