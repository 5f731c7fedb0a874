#include "os/tcp.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace hf::os {
namespace {

sockaddr_in address_of(std::uint32_t address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = address;
  out.sin_port = htons(port);
  return out;
}

void no_delay(int fd) {
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<TcpListener> listen_tcp(std::uint32_t address) {
  TcpListener out;
  out.fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in at = address_of(address, 0);
  socklen_t size = sizeof at;
  if (!out.fd || ::bind(out.fd.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::listen(out.fd.get(), 256) != 0 || ::getsockname(out.fd.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return fail(Lost::job, fmt::format("cannot listen on TCP: {}", std::strerror(errno)));
  }
  out.port = ntohs(at.sin_port);
  return out;
}

Result<UniqueFd> connect_tcp(std::uint32_t address, std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = address_of(address, port);
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
    return fail(Lost::job, fmt::format("cannot connect by TCP: {}", std::strerror(errno)));
  }
  no_delay(fd.get());
  return fd;
}

UniqueFd accept_tcp(int listener) {
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) no_delay(fd.get());
  return fd;
}

std::uint32_t loopback_address() {
  return htonl(INADDR_LOOPBACK);
}

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace hf::os
