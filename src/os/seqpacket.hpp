// Datagrams with file descriptors over a Unix SOCK_SEQPACKET socket in the abstract name space.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

inline constexpr std::size_t datagram_bytes_max = 64 * 1024;
inline constexpr std::size_t datagram_fds_max = 8;

// `name` is without the leading NUL. Descriptors are close-on-exec.
Result<UniqueFd> listen_seqpacket(std::string_view name);
Result<UniqueFd> connect_seqpacket(std::string_view name);

struct Datagram {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> fds;
};

// Sends one datagram. An error when the peer is gone or, on a non-blocking socket, when there is no room.
Result<> send_datagram(int fd, Bytes bytes, std::span<const int> fds = {});
// Receives one. `bytes` empty: the peer has closed. Error text empty: would block.
Result<Datagram> receive_datagram(int fd);

}  // namespace hf::os
