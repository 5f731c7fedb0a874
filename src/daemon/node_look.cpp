// The part of node_health.hpp that asks the system.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/node_health.hpp"
#include "os/clock.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"

namespace hf::daemon {
namespace {

std::uint64_t limit_of(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

std::uint64_t less(std::uint64_t limit, std::uint64_t used) {
  return limit == UINT64_MAX ? limit : limit - std::min(limit, used);
}

// The number behind `name` in a file of lines; alone in the file when the name is empty. Absent, or a word: no limit.
std::uint64_t number_in(const std::string& path, const std::string& name) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  for (std::string word; name.empty() ? !in.eof() : static_cast<bool>(in >> word);) {
    if (name.empty() || word == name) return in >> value ? value : UINT64_MAX;
  }
  return UINT64_MAX;
}

// The same of control groups of version 2 and of version 1.
struct GroupFiles {
  const char *root, *most, *used, *cache;
};
constexpr GroupFiles version_2{"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles version_1{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};

// What the control groups that this process is in have of memory at most, and what they leave. Page cache that is not in use gives way.
struct GroupMemory {
  std::uint64_t most = UINT64_MAX, left = UINT64_MAX;
};

GroupMemory memory_of_groups() {
  GroupMemory out;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::string_view groups = line;  // 7:memory:/user, or 0::/user of version 2
    const std::size_t of_begin = groups.find(':') + 1, of_end = groups.find(':', of_begin);
    if (of_begin == 0 || of_end == std::string_view::npos) continue;
    const std::string of = fmt::format(",{},", groups.substr(of_begin, of_end - of_begin));
    const bool first = of.find(",memory,") != std::string::npos;
    if (!first && !groups.starts_with("0::")) continue;
    const GroupFiles& files = first ? version_1 : version_2;
    for (std::filesystem::path group = groups.substr(of_end + 1);; group = group.parent_path()) {
      const std::string here = (files.root / group.relative_path()).string();
      const std::uint64_t most = number_in(here + files.most, ""), used = number_in(here + files.used, "");
      const std::uint64_t cache = number_in(here + "/memory.stat", files.cache);
      out.most = std::min(out.most, most);
      if (most != UINT64_MAX && used != UINT64_MAX) out.left = std::min(out.left, less(most, cache == UINT64_MAX ? used : less(used, cache)));
      if (!group.has_relative_path()) break;
    }
  }
  return out;
}

std::uint64_t memory_left() {
  const std::uint64_t kibibytes = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(kibibytes == UINT64_MAX ? UINT64_MAX : kibibytes << 10, memory_of_groups().left);
}

std::uint64_t mapped_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t pages = 0;
  return in >> pages ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t files_left() {
  std::uint64_t open = 0;
  std::error_code code;
  for (std::filesystem::directory_iterator at("/proc/self/fd", code), end; !code && at != end; at.increment(code)) ++open;
  return code ? 0 : less(limit_of(RLIMIT_NOFILE), open);
}

std::string try_memory_file(std::uint64_t bytes) {
  Result<os::UniqueFd> file = os::make_memory_file("holdfast-probe", bytes);
  if (!file) return file.error().text;
  Result<os::Mapping> mapping = os::Mapping::map(file->get(), true);
  if (!mapping) return mapping.error().text;
  Result<os::UniqueFd> again = os::reopen_read_only(file->get());
  return again ? std::string() : again.error().text;
}

void look_at_directory(const NodeNeeds& needs, NodeState& state) {
  constexpr std::uint64_t probe_bytes = 4096;
  Result<os::UniqueFd> file = os::make_disk_file(needs.log_directory, probe_bytes, 0);
  if (!file) state.directory_error = file.error().text;
  struct statvfs space {};
  if (::statvfs(needs.log_directory.c_str(), &space) == 0) {
    state.disk_bytes = less(std::uint64_t{space.f_bavail} * space.f_frsize, log_disk_reserve_bytes);
  }
}

std::int64_t clock_step() {
  const Instant before = os::now();
  timespec pause{0, 1'000'000}, step{};
  ::nanosleep(&pause, nullptr);
  if (os::now() <= before) return 0;
  return ::clock_getres(CLOCK_MONOTONIC, &step) == 0 ? std::max<std::int64_t>(1, step.tv_sec * os::second_ns + step.tv_nsec) : 0;
}

}  // namespace

std::uint64_t memory_of_machine() { return std::min(os::physical_memory_bytes(), memory_of_groups().most); }

NodeState look_at_node(const NodeNeeds& needs) {
  NodeState out;
  out.clock_step_ns = clock_step();
  out.open_files = files_left();
  out.file_bytes = limit_of(RLIMIT_FSIZE);
  out.process_bytes = less(limit_of(RLIMIT_AS), mapped_bytes());
  out.memory_bytes = memory_left();
  // Past a limit the attempt itself would do harm, or say less.
  if (!why_unfit(needs, out).empty()) return out;
  out.memory_file_error = try_memory_file(needs.segment_bytes);
  if (out.memory_file_error.empty() && !needs.log_directory.empty()) look_at_directory(needs, out);
  return out;
}

}  // namespace hf::daemon
