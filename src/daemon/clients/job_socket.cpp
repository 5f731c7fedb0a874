#include "daemon/clients/job_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "os/unix_stream.hpp"

namespace hf::daemon {
namespace {

constexpr std::string_view consonants = "bdfgklmnprstvz", vowels = "aeiou";
constexpr std::size_t syllables = 3;
constexpr int tries = 50;
constexpr int naming_s_max = 60;
constexpr int dying_ms_max = 5000;  // a killed process takes a while to close what it had open

std::string make_id() {
  std::string out;
  for (std::size_t i = 0; i < syllables; ++i) {
    out += consonants[randombytes_uniform(static_cast<std::uint32_t>(consonants.size()))];
    out += vowels[randombytes_uniform(static_cast<std::uint32_t>(vowels.size()))];
  }
  return out;
}

bool is_own_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

// The first is where new jobs have their names.
std::vector<std::string> directories() {
  std::vector<std::string> out;
  auto add = [&](const std::string& path) {
    if (std::ranges::find(out, path) == out.end()) out.push_back(path);
  };
  const char* only = std::getenv("HOLDFAST_RUNTIME_DIR");
  if (only && *only == '/') return {only};
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime && *runtime == '/' && is_own_directory(runtime)) add(fmt::format("{}/holdfast", runtime));
  add(fmt::format("/tmp/holdfast-{}", ::geteuid()));
  const std::string usual = fmt::format("/run/user/{}", ::geteuid());
  if (is_own_directory(usual)) add(usual + "/holdfast");
  return out;
}

// Gone with the last job in it.
void remove_directory_if_empty(const std::string& socket) {
  ::rmdir(std::filesystem::path(socket).parent_path().c_str());
}

// A socket that was being named when its process was killed.
void remove_if_old(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mtime + naming_s_max < ::time(nullptr)) {
    ::unlinkat(directory, name.c_str(), 0);
  }
}

Result<os::UniqueFd> connect_or_remove(int directory, const std::string& path, const std::string& id) {
  auto connection = os::connect_unix(directory, id);
  if (connection) {
    if (os::peer_user(connection->get()) == ::geteuid()) return std::move(*connection);
    return fail("");
  }
  if (connection.error() == os::Unreached::other) {
    return fail(fmt::format("job {} does not answer: its head is stopped, or very busy", id));
  }
  if (connection.error() == os::Unreached::nobody_listens && ::unlinkat(directory, id.c_str(), 0) == 0) {
    remove_directory_if_empty(path + "/" + id);
  }
  return fail("");
}

// Each that is there, opened. An error: that of new jobs is not the user's alone; others are passed over then, since anybody can make one in
// /tmp. It may go meanwhile, with the last job in it.
Result<> for_each_directory(const std::function<void(int directory, const std::string& path)>& visit) {
  const std::vector<std::string> all = directories();
  for (const std::string& path : all) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    Result<os::UniqueFd> directory = os::open_private_directory(path);
    if (!directory && ::lstat(path.c_str(), &status) != 0) continue;
    if (!directory && path != all.front()) continue;
    if (!directory) return std::unexpected(directory.error());
    visit(directory->get(), path);
  }
  return {};
}

}  // namespace

bool is_job_id(const std::string& text) {
  if (text.size() != 2 * syllables) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((i % 2 == 0 ? consonants : vowels).find(text[i]) == std::string_view::npos) return false;
  }
  return true;
}

Result<JobSocket> JobSocket::make(const std::function<bool(const std::string& id)>& taken) {
  static_cast<void>(find_running_jobs());  // names of dead heads go; whether the directory is good is seen below
  const std::string path = directories().front();
  Error last{Lost::operation, fmt::format("no name for the job is free in {}", path)};
  for (int i = 0; i < tries; ++i) {
    JobSocket out;
    Result<os::UniqueFd> directory = os::make_private_directory(path);
    if (!directory) return std::unexpected(directory.error());
    const std::string id = make_id();
    if (taken(id)) continue;
    Result<os::UniqueFd> listener = os::listen_unix(directory->get(), id);
    if (!listener) {  // taken; or the directory went with another job's end in between
      if (!listener.error().text.empty()) last = listener.error();
      continue;
    }
    out.id_ = id;
    out.path_ = fmt::format("{}/{}", path, id);
    out.directory_ = std::move(*directory);
    out.listener_ = std::move(*listener);
    return out;
  }
  return std::unexpected(last);
}

std::optional<os::UniqueFd> JobSocket::renew() {
  // What is old in /tmp may be removed by the system.
  if (::utimensat(AT_FDCWD, path_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return std::nullopt;
  const std::string path = directories().front();
  Result<os::UniqueFd> directory = os::make_private_directory(path);
  if (!directory) return std::nullopt;
  Result<os::UniqueFd> listener = os::listen_unix(directory->get(), id_);
  if (!listener) return std::nullopt;
  path_ = fmt::format("{}/{}", path, id_);
  directory_ = std::move(*directory);
  return std::move(*listener);
}

void JobSocket::remove() {
  if (!directory_) return;
  ::unlinkat(directory_.get(), id_.c_str(), 0);
  directory_.reset();
  remove_directory_if_empty(path_);
}

void JobSocket::abandon() {
  directory_.reset();
  listener_.reset();
}

Result<std::vector<RunningJob>> find_running_jobs() {
  std::vector<RunningJob> out;
  Result<> looked = for_each_directory([&](int directory, const std::string& path) {
    std::error_code code;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) names.push_back(entry.path().filename());
    for (const std::string& name : names) {
      if (name.starts_with('.')) remove_if_old(directory, name);
      if (!is_job_id(name)) continue;
      auto connection = connect_or_remove(directory, path, name);
      if (connection) out.push_back({name, std::move(*connection)});
      else if (!connection.error().text.empty()) out.push_back({name, {}});
    }
  });
  if (!looked) return std::unexpected(looked.error());
  return out;
}

Result<os::UniqueFd> connect_job(const std::string& id) {
  Result<os::UniqueFd> out = fail("");
  if (!is_job_id(id)) return out;
  Result<> looked = for_each_directory([&](int directory, const std::string& path) {
    if (!out && out.error().text.empty()) out = connect_or_remove(directory, path, id);
  });
  if (!looked) return std::unexpected(looked.error());
  return out;
}

void remove_socket_of_dead_head(const std::string& path) {
  const std::filesystem::path place(path);
  Result<os::UniqueFd> directory = os::open_private_directory(place.parent_path());
  if (!directory) return;
  for (int i = 0; i < 2; ++i) {
    auto connection = connect_or_remove(directory->get(), place.parent_path(), place.filename());
    if (!connection) return;
    pollfd ended{connection->get(), POLLIN, 0};
    if (::poll(&ended, 1, dying_ms_max) <= 0) return;
  }
}

}  // namespace hf::daemon
