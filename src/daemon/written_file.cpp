#include "daemon/written_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/unique_fd.hpp"

namespace hf::daemon {
namespace {

Result<> not_written(const std::string& path) { return fail(fmt::format("cannot write {}: {}", path, std::strerror(errno))); }

// A pipe, a device: opening it may wait, and its reader would see an end when it is closed.
bool is_more_than_a_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

Result<> try_file(const std::string& path) {
  if (os::UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)); made) {
    ::unlink(path.c_str());
    return {};
  }
  if (errno != EEXIST) return not_written(path);
  if (is_more_than_a_file(path)) {
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return not_written(path);
    return {};
  }
  const os::UniqueFd there(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!there) return not_written(path);
  return {};
}

Result<> write_file(const std::string& path, std::string_view text) {
  FILE* file = std::fopen(path.c_str(), "we");
  bool good = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0) good = false;
  if (!good) return not_written(path);
  return {};
}

}  // namespace hf::daemon
