#include "mpi/info.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "mpi/api.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"
#include "os/unique_fd.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t max_info_key = 256, max_info_val = 1024;  // with the final zero

int check_key(Process& p, const char* key) {
  const std::size_t length = strnlen(key, max_info_key);
  if (length > 0 && length < max_info_key) return success;
  return p.explain(err_info_key, length == 0 ? std::string("the key is empty")
                                             : fmt::format("the key is longer than {} characters", max_info_key - 1));
}

int check_changeable(Process& p, const Info& info) {
  return info.predefined ? p.explain(err_info, "MPI_INFO_ENV cannot be changed or freed") : success;
}

// Copies what fits, with a final zero.
void copy_text(std::string_view text, char* to, std::size_t room) {
  const std::size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

std::string file_text(const char* path) {
  os::UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  for (ssize_t n; file && (n = read(file.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  return text;
}

void set_command(Info& info, const std::vector<std::string>& words) {
  if (words.empty()) return;
  info.set("command", words[0].substr(0, max_info_val - 1));
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i > 1 ? " " : "") + words[i];
  info.set("argv", arguments.substr(0, max_info_val - 1));
}

// What the process knows of itself without its job.
Info* make_environment() {
  static Info info;
  info.predefined = true;
  std::vector<std::string> words;
  const std::string command_line = file_text("/proc/self/cmdline");
  for (std::size_t at = 0; at < command_line.size(); at += words.back().size() + 1) {
    words.emplace_back(command_line.c_str() + at);
  }
  set_command(info, words);
  utsname system{};
  if (uname(&system) == 0) info.set("arch", system.machine);
  char directory[max_info_val];
  if (getcwd(directory, sizeof directory)) info.set("wdir", directory);
  return &info;
}

}  // namespace

const std::string* Info::find(std::string_view key) const {
  auto it = std::ranges::find(entries, key, [](const auto& entry) { return std::string_view(entry.first); });
  return it == entries.end() ? nullptr : &it->second;
}

void Info::set(std::string_view key, std::string_view value) {
  if (const std::string* old = find(key)) {
    const_cast<std::string*>(old)->assign(value);
  } else {
    entries.emplace_back(key, value);
  }
}

Info* info_env() {
  static Info* const info = make_environment();
  return info;
}

void complete_info_env(Process& p) {
  Info& info = *info_env();
  char host[max_info_val] = "";
  int length = 0;
  get_processor_name(p, host, length);
  info.set("host", host);
  info.set("maxprocs", fmt::format("{}", p.engine->job().rank_count));
  info.set("soft", fmt::format("{}", p.engine->job().rank_count));
}

int info_create(Process&, Info*& info) {
  info = new Info;
  return success;
}

int info_create_env(Process&, int argc, char** argv, Info*& info) {
  info = new Info;
  info->entries = info_env()->entries;
  if (argc > 0 && argv) set_command(*info, std::vector<std::string>(argv, argv + argc));
  return success;
}

int info_dup(Process&, Info& info, Info*& newinfo) {
  newinfo = new Info;
  newinfo->entries = info.entries;
  return success;
}

int info_free(Process& p, Info*& info) {
  if (int code = check_changeable(p, *info)) return code;
  release(info);
  info = nullptr;
  return success;
}

int info_set(Process& p, Info& info, const char* key, const char* value) {
  if (int code = check_changeable(p, info)) return code;
  if (int code = check_key(p, key)) return code;
  if (strnlen(value, max_info_val) == max_info_val) {
    return p.explain(err_info_value,
                     fmt::format("the value of \"{}\" is longer than {} characters", key, max_info_val - 1));
  }
  info.set(key, value);
  return success;
}

int info_delete(Process& p, Info& info, const char* key) {
  if (int code = check_changeable(p, info)) return code;
  if (int code = check_key(p, key)) return code;
  const auto erased = std::erase_if(info.entries, [&](const auto& entry) { return entry.first == key; });
  return erased ? success : p.explain(err_info_nokey, fmt::format("there is no key \"{}\"", key));
}

int info_get(Process& p, Info& info, const char* key, int valuelen, char* value, int& flag) {
  if (int code = check_key(p, key)) return code;
  if (valuelen < 0) return p.explain(err_arg, fmt::format("valuelen {} is negative", valuelen));
  const std::string* found = info.find(key);
  flag = found != nullptr;
  if (found) copy_text(*found, value, static_cast<std::size_t>(valuelen) + 1);
  return success;
}

// buflen counts the final zero; it becomes what the value needs (MPI 5.0, 10).
int info_get_string(Process& p, Info& info, const char* key, int& buflen, char* value, int& flag) {
  if (int code = check_key(p, key)) return code;
  if (buflen < 0) return p.explain(err_arg, fmt::format("buflen {} is negative", buflen));
  const std::string* found = info.find(key);
  flag = found != nullptr;
  if (!found) return success;
  if (buflen > 0) copy_text(*found, value, static_cast<std::size_t>(buflen));
  buflen = static_cast<int>(found->size()) + 1;
  return success;
}

int info_get_valuelen(Process& p, Info& info, const char* key, int& valuelen, int& flag) {
  if (int code = check_key(p, key)) return code;
  const std::string* found = info.find(key);
  flag = found != nullptr;
  if (found) valuelen = static_cast<int>(found->size());
  return success;
}

int info_get_nkeys(Process&, Info& info, int& nkeys) {
  nkeys = static_cast<int>(info.entries.size());
  return success;
}

int info_get_nthkey(Process& p, Info& info, int n, char* key) {
  if (n < 0 || n >= static_cast<int>(info.entries.size())) {
    return p.explain(err_arg, fmt::format("there is no key {}: the info object has {}", n, info.entries.size()));
  }
  copy_text(info.entries[static_cast<std::size_t>(n)].first, key, max_info_key);
  return success;
}

}  // namespace hf::mpi
