#include "daemon/mpi_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "daemon/environment.hpp"
#include "os/loaded_mpi.hpp"

namespace hf::daemon {
namespace {

constexpr const char* library_name = "libmpi_abi.so.1";

// build/bin/holdfast and build/lib, or the same below an installation's prefix.
std::filesystem::path own_directory() {
  std::error_code code;
  const std::filesystem::path prefix = std::filesystem::read_symlink("/proc/self/exe", code).parent_path().parent_path();
  for (const char* directory : {"lib", "lib64", "lib/x86_64-linux-gnu"}) {
    if (std::filesystem::exists(prefix / directory / library_name, code)) return prefix / directory;
  }
  return {};
}

const std::string& own_library() {
  static const std::string path = [] {
    std::error_code code;
    return std::filesystem::canonical(own_directory() / library_name, code).string();
  }();
  return path;
}

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream in(fmt::format("/proc/{0}/task/{0}/children", process));
  return {std::istream_iterator<pid_t>(in), {}};
}

}  // namespace

void let_find_own_library(std::vector<std::string>& environment) {
  std::error_code code;
  // It holds nothing else: other libraries of the installation's prefix are not to be found before the program's own.
  const std::filesystem::path directory = own_directory() / "holdfast";
  if (!std::filesystem::exists(directory / library_name, code) || directory.string().find_first_of(":;") != std::string::npos) return;
  prepend(environment, "LD_LIBRARY_PATH", directory.string());
}

std::optional<std::string> foreign_mpi_of(pid_t process) {
  std::vector<pid_t> todo{process};
  for (std::size_t i = 0; i < todo.size() && i < 64; ++i) {
    os::LoadedMpi found = os::find_loaded_mpi(os::read_maps(todo[i]), own_library());
    if (!found.own && !found.other.empty()) return std::move(found.other);
    std::ranges::copy(children_of(todo[i]), std::back_inserter(todo));
  }
  return std::nullopt;
}

std::string second_mpi_of(pid_t process) { return os::find_loaded_mpi(os::read_maps(process), own_library()).other; }

}  // namespace hf::daemon
