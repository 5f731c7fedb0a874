#include "recorder/names.hpp"

#include <string.h>

namespace hf::recorder {

static Name names[names_max];

std::uint64_t hash_of(const char* path, std::uint64_t hash) {
  for (; *path; ++path) hash = (hash ^ static_cast<unsigned char>(*path)) * 1099511628211u;
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
