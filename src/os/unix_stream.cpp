#include "os/unix_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "os/error_text.hpp"

namespace hf::os {
namespace {

// Through the descriptor, so that neither the length of the directory's path nor what stands there now matters.
bool address_of(int directory, const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, name);
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

std::unexpected<Error> failed(const std::string& what) {
  return fail(fmt::format("{}: {}", what, error_text(errno)));
}

// What to do with a directory that is ours by its name. Another one was named by mistake, and has other uses.
std::unexpected<Error> unfit(const std::string& path, const std::string& what, const std::string& remedy) {
  const bool ours = std::string_view(path).substr(path.rfind('/') + 1).starts_with("holdfast");
  return fail(fmt::format("{} {}: {}", path, what, ours ? remedy : "name a directory that is, or can be made, yours alone"));
}

}  // namespace

Result<UniqueFd> make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(fmt::format("cannot make the directory {}", path));
  return open_private_directory(path);
}

Result<UniqueFd> open_private_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOTDIR || errno == ELOOP) return unfit(path, "is not a directory", "remove it");
    return failed(fmt::format("cannot open the directory {}", path));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failed(fmt::format("cannot look at the directory {}", path));
  if (status.st_uid != ::geteuid()) return unfit(path, fmt::format("belongs to another user (uid {})", status.st_uid), "have it removed");
  if ((status.st_mode & 077) != 0) {
    return unfit(path, fmt::format("is open to other users (mode {:04o})", status.st_mode & 07777u), fmt::format("chmod 700 {}", path));
  }
  return fd;
}

Result<UniqueFd> listen_unix(int directory, const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed("cannot make a Unix socket");
  // Known under its name only once it listens: one that refuses is a dead one's.
  const std::string unfinished = fmt::format(".{}-{}", name, ::getpid());
  sockaddr_un address{};
  if (!address_of(directory, unfinished, address)) return fail(fmt::format("the name {} is too long for a socket", name));
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return failed("cannot name a Unix socket");
  const bool listening = ::listen(fd.get(), 64) == 0;
  const bool named = listening && ::linkat(directory, unfinished.c_str(), directory, name.c_str(), 0) == 0;
  const int code = errno;
  ::unlinkat(directory, unfinished.c_str(), 0);
  if (named) return fd;
  if (listening && code == EEXIST) return fail("");
  errno = code;
  return failed("cannot listen on a Unix socket");
}

std::expected<UniqueFd, Unreached> connect_unix(int directory, const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  if (!fd || !address_of(directory, name, address)) return std::unexpected(Unreached::other);
  while (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    return std::unexpected(errno == ECONNREFUSED ? Unreached::nobody_listens
                           : errno == ENOENT     ? Unreached::no_such_name
                                                 : Unreached::other);
  }
  return fd;
}

UniqueFd accept_unix(int listener) {
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

std::optional<uid_t> peer_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace hf::os
