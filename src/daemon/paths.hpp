// Paths on the command line of `holdfast run`.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hf::daemon {

// Where this command is given; empty: that directory was removed.
inline std::string own_directory() {
  std::error_code code;
  const std::string directory = std::filesystem::current_path(code).string();
  return code ? std::string() : directory;
}

// `path` of an option as it is meant in `directory`; an empty one stays empty.
inline Result<std::string> absolute(std::string_view option, const std::string& path, const std::string& directory) {
  if (path.empty() || path[0] == '/') return path;
  if (directory.empty()) {
    return fail(fmt::format("{} {}: the current directory was removed: give a path that begins with /, or go to another directory", option, path));
  }
  return directory + "/" + path;
}

}  // namespace hf::daemon
