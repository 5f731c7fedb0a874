#include "daemon/event_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hf::daemon {
namespace {

constexpr std::uint64_t magic = 0x31736d7265746668;  // "hfterms1"
constexpr std::size_t page_bytes = 4096;

struct Head {
  std::uint64_t magic = 0, key = 0;
  std::uint32_t ranks = 0, reserved = 0;
};

std::unexpected<Error> failed(const char* what, const std::string& path) {
  return fail(fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

off_t over_at(const core::event_logger::Hosting& h, std::uint32_t term) {
  return static_cast<off_t>((static_cast<std::size_t>(h.rank.value) + 1) * page_bytes + term);
}

off_t host_at(const core::event_logger::Hosting& h, std::uint32_t term) {
  return over_at(h, 0) + EventDirectory::terms_max + static_cast<off_t>(term * sizeof(std::uint16_t));
}

bool write_all(int fd, Bytes bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    at += n;
  }
  return true;
}

bool read_all(int fd, MutableBytes bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENODATA;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    at += n;
  }
  return true;
}

template <class T>
Bytes raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// A name that was made in it is on disk.
bool sync_directory(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

}  // namespace

Result<> EventDirectory::make(const std::string& path, std::uint64_t key, int ranks) {
  const std::string terms = path + "/terms";
  if (::mkdir(path.c_str(), 0700) != 0) return failed("cannot make", path);
  os::UniqueFd fd(::open(terms.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const Head head{magic, key, static_cast<std::uint32_t>(ranks)};
  const auto size = static_cast<off_t>((static_cast<std::size_t>(ranks) + 1) * page_bytes);
  if (!fd || ::ftruncate(fd.get(), size) != 0 || !write_all(fd.get(), raw(head), 0) || ::fsync(fd.get()) != 0 || !sync_directory(path)) {
    auto error = failed("cannot write", terms);
    if (Result<> removed = remove(path); !removed) return removed;
    return error;
  }
  return {};
}

Result<> EventDirectory::remove(const std::string& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) return fail(fmt::format("cannot remove {}: {}", path, code.message()));
  return {};
}

Result<EventDirectory> EventDirectory::open(const std::string& path, std::uint64_t key, int ranks) {
  EventDirectory directory(path, key, ranks);
  Result<os::UniqueFd> terms = directory.open_terms(O_RDWR);
  if (!terms) return std::unexpected(terms.error());
  return directory;
}

// Anew for each look: that is when a file system of the network asks its server.
Result<os::UniqueFd> EventDirectory::open_terms(int flags) const {
  const std::string path = path_ + "/terms";
  os::UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  Head head;
  if (!fd || !read_all(fd.get(), std::as_writable_bytes(std::span(&head, 1)), 0)) return failed("cannot read", path);
  if (head.magic != magic || head.key != key_ || head.ranks != static_cast<std::uint32_t>(ranks_)) return fail(path + " is another job's");
  return fd;
}

std::string EventDirectory::file_path(int agent) const { return fmt::format("{}/node-{}", path_, agent); }

Result<os::UniqueFd> EventDirectory::make_file(int agent) const {
  os::UniqueFd fd(::open(file_path(agent).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd || !sync_directory(path_)) return failed("cannot make", file_path(agent));
  return fd;
}

Result<std::vector<std::byte>> EventDirectory::read_file(int agent) const {
  os::UniqueFd fd(::open(file_path(agent).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0) return failed("cannot read", file_path(agent));
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  if (!read_all(fd.get(), bytes, 0)) return failed("cannot read", file_path(agent));
  return bytes;
}

Result<std::vector<core::event_logger::Hosting>> EventDirectory::over(std::span<const Hosting> hostings) const {
  std::vector<Hosting> out;
  Result<os::UniqueFd> fd = open_terms(O_RDONLY);
  if (!fd) return std::unexpected(fd.error());
  for (const Hosting& hosting : hostings) {
    std::byte is_over{};
    if (hosting.term.value >= terms_max) {
      return fail(fmt::format("rank {} was started anew {} times: no more can be told apart", hosting.rank.value, terms_max));
    }
    if (!read_all(fd->get(), {&is_over, 1}, over_at(hosting, hosting.term.value))) return failed("cannot read", path_ + "/terms");
    if (is_over != std::byte{}) out.push_back(hosting);
  }
  return out;
}

Result<std::vector<core::event_logger::Hosting>> EventDirectory::take_over(std::span<const Hosting> hostings, int agent) const {
  Result<os::UniqueFd> fd = open_terms(O_RDWR);
  if (!fd) return std::unexpected(fd.error());
  const auto host = static_cast<std::uint16_t>(agent + 1);
  bool good = true;
  for (const Hosting& hosting : hostings) {
    if (hosting.term.value >= terms_max) return over(hostings);  // says so
    const std::vector<std::byte> below(hosting.term.value, std::byte{1});
    good = good && write_all(fd->get(), raw(host), host_at(hosting, hosting.term.value));
#ifndef HOLDFAST_MUTATE_TAKEN_WITHOUT_FENCE
    good = good && write_all(fd->get(), below, over_at(hosting, 0));
#endif
  }
  if (!good || ::fdatasync(fd->get()) != 0) return failed("cannot write", path_ + "/terms");
  fd->reset();
  return over(hostings);
}

Result<std::vector<int>> EventDirectory::hosts(const Hosting& below) const {
  Result<os::UniqueFd> fd = open_terms(O_RDONLY);
  if (!fd) return std::unexpected(fd.error());
  std::vector<std::uint16_t> hosts(std::min(below.term.value, terms_max));
  if (!read_all(fd->get(), std::as_writable_bytes(std::span(hosts)), host_at(below, 0))) return failed("cannot read", path_ + "/terms");
  std::vector<int> out;
  for (std::uint16_t host : hosts) {
    if (host != 0) out.push_back(host - 1);
  }
  return out;
}

}  // namespace hf::daemon
