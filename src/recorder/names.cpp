#include "recorder/names.hpp"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hf::recorder {

static Name names[names_max];

static std::uint64_t add(const char* text, std::uint64_t hash) {
  for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211u;
  return hash;
}

std::uint64_t hash_of(const char* path, std::uint64_t hash) {
  char here[4096];
  if (path[0] != '/' && ::syscall(SYS_getcwd, here, sizeof here) > 0) hash = add("/", add(here, hash));
  hash = add(path, hash);
  return hash == 0 ? 1 : hash;
}

Name* name_of(std::uint64_t hash) {
  for (std::size_t i = 0; i < 64; ++i) {
    Name& name = names[(hash + i) % names_max];
    if (name.hash == 0) name.hash = hash;
    if (name.hash == hash) return &name;
  }
  return nullptr;
}

bool is_of_system(const char* path) {
  for (const char* special : {"/proc/", "/sys/", "/dev/"}) {
    if (strncmp(path, special, strlen(special)) == 0) return true;
  }
  return false;
}

}  // namespace hf::recorder
