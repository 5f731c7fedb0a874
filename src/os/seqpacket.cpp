#include "os/seqpacket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "os/error_text.hpp"

namespace hf::os {
namespace {

std::unexpected<Error> failed(const char* what) {
  return fail(Lost::job, fmt::format("{}: {}", what, error_text(errno)));
}

socklen_t abstract_address(std::string_view name, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  std::size_t n = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

Result<Datagram> not_received() {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return fail("");
  if (errno == ECONNRESET) return Datagram{};  // it ended without reading all that was sent to it
  return failed("cannot receive from a Unix socket");
}

}  // namespace

Result<UniqueFd> listen_seqpacket(std::string_view name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return failed("cannot make a Unix socket");
  sockaddr_un address{};
  socklen_t size = abstract_address(name, address);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return failed("cannot bind the agent's socket");
  if (::listen(fd.get(), 1024) != 0) return failed("cannot listen on the agent's socket");
  return fd;
}

Result<UniqueFd> connect_seqpacket(std::string_view name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return failed("cannot make a Unix socket");
  sockaddr_un address{};
  socklen_t size = abstract_address(name, address);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return failed("cannot reach the agent");
  return fd;
}

Result<> send_datagram(int fd, Bytes bytes, std::span<const int> fds) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * datagram_fds_max)] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  ssize_t n;
  do {
    n = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return failed("cannot send to the other side of a Unix socket");
  return {};
}

Result<Datagram> receive_datagram(int fd) {
  Datagram out;
  ssize_t n;
  do {
    n = ::recv(fd, nullptr, 0, MSG_PEEK | MSG_TRUNC);  // its size: room for the largest would have to be cleared each time
  } while (n < 0 && errno == EINTR);
  if (n < 0) return not_received();
  out.bytes.resize(std::clamp<std::size_t>(static_cast<std::size_t>(n), 1, datagram_bytes_max));
  iovec piece{out.bytes.data(), out.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * datagram_fds_max)];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  do {
    n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return not_received();
  out.bytes.resize(static_cast<std::size_t>(n));
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int received;
      std::memcpy(&received, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
      out.fds.emplace_back(received);
    }
  }
  return out;
}

}  // namespace hf::os
