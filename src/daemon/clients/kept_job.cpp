#include "daemon/clients/kept_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "os/unix_stream.hpp"

namespace hf::daemon {
namespace {

constexpr const char* record_name = "job.json";
constexpr std::size_t record_bytes_max = 1 << 20;
constexpr std::size_t spare_bytes = 256;  // for the words at the job's end

}  // namespace

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::optional<Json> KeptJob::read_record() const {
  os::UniqueFd file(::openat(directory(), record_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(record_bytes_max, '\0');
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (n < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(n));
  Result<Json> record = decode_line(text);
  if (!record) return std::nullopt;
  return std::move(*record);
}

// Over the one that is there, which has room for it: on a full disk nothing else can be written.
bool KeptJob::write_over(std::string text) const {
  os::UniqueFd file(::openat(directory(), record_name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat before {};
  if (!file || ::fstat(file.get(), &before) != 0 || before.st_size < std::ssize(text)) return false;
  text.insert(text.size() - 1, static_cast<std::size_t>(before.st_size) - text.size(), ' ');  // before its end of line
  return ::write(file.get(), text.data(), text.size()) == std::ssize(text);
}

Result<> KeptJob::write_record(const Json& record) const {
  std::string text = encode_line(record);
  text.insert(text.size() - 1, spare_bytes, ' ');
  const std::string unfinished = std::string(record_name) + ".new";
  os::UniqueFd file(::openat(directory(), unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = file && ::write(file.get(), text.data(), text.size()) == std::ssize(text);
  if (written && ::renameat(directory(), unfinished.c_str(), directory(), record_name) == 0) return {};
  const int error = errno;
  ::unlinkat(directory(), unfinished.c_str(), 0);
  if (write_over(encode_line(record))) return {};
  errno = error;
  return fail(fmt::format("cannot write {}/{}: {}", path_, record_name, std::strerror(errno)));
}

void KeptJob::remove() const {
  std::error_code code;
  std::filesystem::remove_all(path_, code);
}

Result<std::string> kept_jobs_path() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state && *state == '/') return fmt::format("{}/holdfast", state);
  if (home && *home == '/') return fmt::format("{}/.local/state/holdfast", home);
  return fail("there is no place to keep the output of a job: set HOME or XDG_STATE_HOME");
}

bool is_kept(const std::string& id) {
  Result<std::string> path = kept_jobs_path();
  return path && ::access(fmt::format("{}/{}", *path, id).c_str(), F_OK) == 0;
}

Result<KeptJob> make_kept_job(const std::string& id) {
  Result<std::string> path = kept_jobs_path();
  if (!path) return std::unexpected(path.error());
  std::error_code code;
  std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), code);  // what fails shows in the next step
  if (Result<os::UniqueFd> all = os::make_private_directory(*path); !all) return std::unexpected(all.error());
  const std::string own = fmt::format("{}/{}", *path, id);
  Result<os::UniqueFd> directory = os::make_private_directory(own);
  if (!directory) return std::unexpected(directory.error());
  return KeptJob(own, std::move(*directory));
}

Result<KeptJob> open_kept_job(const std::string& path) {
  Result<os::UniqueFd> directory = os::open_private_directory(path);
  if (!directory) return std::unexpected(directory.error());
  return KeptJob(path, std::move(*directory));
}

}  // namespace hf::daemon
