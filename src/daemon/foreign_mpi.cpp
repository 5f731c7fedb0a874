#include "daemon/foreign_mpi.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <vector>

namespace hf::daemon {
namespace {

bool names_an_mpi(std::string_view file) {
  for (std::string_view stem :
       {"libmpi.so", "libmpi_abi.so", "libmpich.so", "libmpi_cray.so", "libpmpi.so", "libmpi_ibm.so"}) {
    if (file.starts_with(stem)) return true;
  }
  return false;
}

std::string read_whole(const std::string& path) {
  std::string out;
  if (FILE* file = std::fopen(path.c_str(), "re")) {
    char piece[16384];
    while (std::size_t n = std::fread(piece, 1, sizeof piece, file)) out.append(piece, n);
    std::fclose(file);
  }
  return out;
}

// build/bin/holdfast and build/lib/libmpi_abi.so.1, or the same below an installation's prefix.
std::string own_library() {
  std::error_code code;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  std::filesystem::path prefix = self.parent_path().parent_path();
  for (const char* directory : {"lib", "lib64", "lib/x86_64-linux-gnu"}) {
    std::filesystem::path path = std::filesystem::canonical(prefix / directory / "libmpi_abi.so.1", code);
    if (!code) return path.string();
  }
  return {};
}

}  // namespace

std::optional<std::string> find_foreign_mpi(std::string_view maps, std::string_view own) {
  std::optional<std::string> found;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    std::string_view path = line.substr(slash);
    if (path == own) return std::nullopt;
    if (!found && names_an_mpi(path.substr(path.rfind('/') + 1))) found = std::string(path);
  }
  return found;
}

std::optional<std::string> foreign_mpi_of(pid_t process) {
  static const std::string own = own_library();
  std::vector<pid_t> todo{process};
  for (std::size_t i = 0; i < todo.size() && i < 64; ++i) {
    if (auto found = find_foreign_mpi(read_whole(fmt::format("/proc/{}/maps", todo[i])), own)) return found;
    std::string children = read_whole(fmt::format("/proc/{0}/task/{0}/children", todo[i]));
    for (const char* at = children.c_str(); *at;) {
      int child = 0, used = 0;
      if (std::sscanf(at, "%d %n", &child, &used) != 1) break;
      todo.push_back(child);
      at += used;
    }
  }
  return std::nullopt;
}

}  // namespace hf::daemon
