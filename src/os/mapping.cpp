#include "os/mapping.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/map_apart.hpp"
#include "os/error_text.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hf::os {

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<Mapping> Mapping::map(int fd, bool writable, std::size_t bytes) {
  if (bytes == 0) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return fail(fmt::format("cannot examine a shared file: {}", error_text(errno)));
    bytes = static_cast<std::size_t>(status.st_size);
  }
  void* at = map_apart(bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd);
  if (at == MAP_FAILED) return fail(fmt::format("cannot map {} bytes of shared memory: {}", bytes, error_text(errno)));
  Mapping out;
  out.bytes_ = MutableBytes(static_cast<std::byte*>(at), bytes);
  return out;
}

void Mapping::populate() {
  (void)::madvise(bytes_.data(), bytes_.size(), MADV_POPULATE_WRITE);  // else page by page, at first touch
}

}  // namespace hf::os
