#include "os/tcp.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "os/error_text.hpp"

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
    return fail(Lost::job, fmt::format("cannot listen on TCP: {}", error_text(errno)));
  }
  out.port = ntohs(at.sin_port);
  return out;
}

Result<UniqueFd> connect_tcp(std::uint32_t address, std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = address_of(address, port);
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
    return fail(Lost::job, fmt::format("cannot connect by TCP: {}", error_text(errno)));
  }
  no_delay(fd.get());
  return fd;
}

Result<UniqueFd> connect_tcp_within(std::uint32_t address, std::uint16_t port, int limit_ms) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in at = address_of(address, port);
  auto failed = [](int code) { return fail(Lost::job, fmt::format("cannot connect by TCP: {}", error_text(code))); };
  if (!fd) return failed(errno);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
    if (errno != EINPROGRESS) return failed(errno);
    pollfd ready{fd.get(), POLLOUT, 0};
    if (::poll(&ready, 1, limit_ms) != 1) return failed(ETIMEDOUT);
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return failed(code);
  }
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
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

std::uint32_t local_address(int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0 ? at.sin_addr.s_addr : 0;
}

std::vector<std::uint32_t> interface_addresses() {
  std::vector<std::uint32_t> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    if (!(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
    out.push_back(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr);
  }
  ::freeifaddrs(all);
  return out;
}

std::optional<std::uint32_t> resolve(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0 || !found) return std::nullopt;
  std::uint32_t address = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr;
  ::freeaddrinfo(found);
  return address;
}

std::optional<std::uint32_t> address_towards(const std::string& host) {
  auto address = resolve(host);
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!address || !fd) return std::nullopt;
  sockaddr_in at = address_of(*address, 9);  // the port does not matter: nothing is sent
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return std::nullopt;
  return local_address(fd.get());
}

std::string address_text(std::uint32_t address) {
  char text[INET_ADDRSTRLEN] = "";
  in_addr in{address};
  return ::inet_ntop(AF_INET, &in, text, sizeof text) ? text : "?";
}

void set_non_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

std::optional<std::int64_t> last_acknowledged_ns(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state != TCP_ESTABLISHED) return std::nullopt;
  return std::int64_t{info.tcpi_last_ack_recv} * 1'000'000;
}

}  // namespace hf::os
