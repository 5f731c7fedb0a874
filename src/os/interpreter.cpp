#include "os/interpreter.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "os/unique_fd.hpp"

namespace hf::os {
namespace {

constexpr std::size_t path_bytes_max = 4096;

std::string bytes_at(int fd, std::uint64_t offset, std::size_t most) {
  std::string out(most, '\0');
  const ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

template <class T>
bool read_at(int fd, std::uint64_t offset, T& out) {
  const std::string bytes = bytes_at(fd, offset, sizeof out);
  if (bytes.size() == sizeof out) std::memcpy(&out, bytes.data(), sizeof out);
  return bytes.size() == sizeof out;
}

// The first word behind #!.
std::string named_by_script(std::string_view line) {
  line = line.substr(2, line.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

template <class Header, class Part>
std::string named_by_binary(int fd) {
  Header header{};
  if (!read_at(fd, 0, header)) return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    Part part{};
    if (!read_at(fd, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof part, part)) return {};
    if (part.p_type == PT_INTERP) return bytes_at(fd, part.p_offset, path_bytes_max).c_str();
  }
  return {};
}

std::string from(const std::string& directory, const std::string& path) {
  return path[0] == '/' || directory.empty() ? path : directory + "/" + path;
}

}  // namespace

std::string why_no_interpreter(const std::string& path, const std::string& directory) {
  const UniqueFd fd(::open(from(directory, path).c_str(), O_RDONLY | O_CLOEXEC));
  auto is_there = [&](const std::string& name) { return ::access(from(directory, name).c_str(), F_OK) == 0; };
  if (!fd) return {};
  const std::string begin = bytes_at(fd.get(), 0, path_bytes_max);
  if (begin.starts_with("#!")) {
    const std::string name = named_by_script(begin);
    if (name.empty() || is_there(name)) return {};
    if (!name.ends_with('\r')) return fmt::format("its first line names {}, which is not there", name);
    return fmt::format("its first line ends with a carriage return, as on DOS, which counts as a part of {}: take it away",
                       name.substr(0, name.size() - 1));
  }
  if (!begin.starts_with(ELFMAG) || begin.size() <= EI_CLASS) return {};
  const std::string name = begin[EI_CLASS] == ELFCLASS64 ? named_by_binary<Elf64_Ehdr, Elf64_Phdr>(fd.get())
                                                         : named_by_binary<Elf32_Ehdr, Elf32_Phdr>(fd.get());
  if (name.empty() || is_there(name)) return {};
  return fmt::format("its loader {} is not there: it was built for another system", name);
}

}  // namespace hf::os
