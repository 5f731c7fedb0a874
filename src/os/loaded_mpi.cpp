#include "os/loaded_mpi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "os/unique_fd.hpp"

namespace hf::os {
namespace {

bool names_an_mpi(std::string_view file) {
  for (std::string_view stem : {"libmpi.so", "libmpi_abi.so", "libmpich.so", "libmpi_cray.so", "libpmpi.so", "libmpi_ibm.so"}) {
    if (file.starts_with(stem)) return true;
  }
  return false;
}

}  // namespace

LoadedMpi find_loaded_mpi(std::string_view maps, std::string_view own) {
  LoadedMpi out;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view path = line.substr(slash);
    if (path == own) {
      out.own = true;
    } else if (out.other.empty() && names_an_mpi(path.substr(path.rfind('/') + 1))) {
      out.other = path;
    }
  }
  return out;
}

std::string read_maps(int process) {
  std::string out;
  const UniqueFd file(::open(fmt::format("/proc/{}/maps", process).c_str(), O_RDONLY | O_CLOEXEC));
  char piece[16384];
  for (ssize_t n; file && (n = ::read(file.get(), piece, sizeof piece)) > 0;) out.append(piece, static_cast<std::size_t>(n));
  return out;
}

}  // namespace hf::os
