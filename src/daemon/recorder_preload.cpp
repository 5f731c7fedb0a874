#include "daemon/recorder_preload.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "daemon/environment.hpp"
#include "os/mapping.hpp"
#include "os/unique_fd.hpp"
#include "wire/recorder.hpp"

namespace hf::daemon {
namespace {

template <class T>
std::optional<T> at(Bytes file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, file.data() + offset, sizeof out);
  return out;
}

std::vector<Elf64_Phdr> parts_of(Bytes file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> parts;
  for (int i = 0; i < header.e_phnum; ++i) {
    auto part = at<Elf64_Phdr>(file, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
    if (!part) break;
    parts.push_back(*part);
  }
  return parts;
}

// Where the byte with this address stands in the file.
std::uint64_t offset_of(const std::vector<Elf64_Phdr>& parts, std::uint64_t address) {
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
      return part.p_offset + (address - part.p_vaddr);
    }
  }
  return UINT64_MAX;
}

// Does it name a library that begins so among those that it needs?
bool needs(Bytes file, const std::vector<Elf64_Phdr>& parts, std::string_view library) {
  std::vector<std::uint64_t> names;
  std::uint64_t strings = UINT64_MAX;
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t offset = part.p_offset;; offset += sizeof(Elf64_Dyn)) {
      auto entry = at<Elf64_Dyn>(file, offset);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = offset_of(parts, entry->d_un.d_ptr);
    }
  }
  return std::ranges::any_of(names, [&](std::uint64_t name) {
    if (strings > file.size() || name > file.size() - strings) return false;
    return text_of(file.subspan(strings + name)).starts_with(library);
  });
}

}  // namespace

std::string why_not_preloaded(Bytes program) {
  auto header = at<Elf64_Ehdr>(program, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return {};
  const std::vector<Elf64_Phdr> parts = parts_of(program, *header);
  const bool is_dynamic = std::ranges::any_of(parts, [](const Elf64_Phdr& part) { return part.p_type == PT_INTERP; });
  if (!is_dynamic) return "the program is linked statically";
  for (const char* sanitizer : {"libasan", "libtsan"}) {
    if (needs(program, parts, sanitizer)) return "a sanitizer replaces the same functions";
  }
  return {};
}

Result<std::string> recorder_for(const std::string& program) {
  auto not_recorded = [](const std::string& why) {
    return fail(fmt::format("this program's clocks and random numbers are not recorded, and may differ after a recovery: {} "
                            "(--record-libc no says that this is meant)",
                            why));
  };
  std::error_code code;
  // build/bin/holdfast and build/lib, or the same below an installation's prefix.
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::string library = (self.parent_path().parent_path() / "lib" / wire::recorder_file).string();
  if (::access(library.c_str(), R_OK) != 0) return not_recorded(fmt::format("{} is missing: install Holdfast again", library));
  if (library.find_first_of(" :") != std::string::npos) {
    return not_recorded(fmt::format("the dynamic linker takes no library whose path has a space or a colon in it, and Holdfast is in {}; install it elsewhere",
                                    library));
  }
  os::UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return library;  // may be executed and not read
  Result<os::Mapping> contents = os::Mapping::map(file.get(), false);
  if (!contents) return library;
  if (const std::string why = why_not_preloaded(contents->bytes()); !why.empty()) return not_recorded(why);
  return library;
}

void preload(const std::string& library, std::vector<std::string>& environment) {
  prepend(environment, "LD_PRELOAD", library);
  // A function that is bound at its first call leaves the vector registers on the program's stack, with what the MPI library had in them.
  constexpr std::string_view bind_now = "LD_BIND_NOW=";
  if (std::ranges::none_of(environment, [&](const std::string& entry) { return entry.starts_with(bind_now); })) {
    environment.push_back(fmt::format("{}1", bind_now));
  }
}

void do_not_preload(std::vector<std::string>& environment) {
  constexpr std::string_view name = "LD_PRELOAD=";
  for (std::string& entry : environment) {
    if (!entry.starts_with(name)) continue;
    std::string left;
    for (std::string_view words = std::string_view(entry).substr(name.size()); !words.empty();) {
      const std::string_view word = words.substr(0, words.find_first_of(" :"));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      const bool is_recorder = word.substr(word.rfind('/') + 1) == wire::recorder_file;
      if (!is_recorder && !word.empty()) left += fmt::format("{}{}", left.empty() ? "" : ":", word);
    }
    entry = left.empty() ? std::string() : fmt::format("{}{}", name, left);
  }
  std::erase(environment, std::string());
}

}  // namespace hf::daemon
