// TCP on IPv4 addresses in network byte order; ports in host byte order.
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

struct TcpListener {
  UniqueFd fd;  // non-blocking
  std::uint16_t port = 0;
};
Result<TcpListener> listen_tcp(std::uint32_t address);
// Blocks until connected. TCP_NODELAY is set.
Result<UniqueFd> connect_tcp(std::uint32_t address, std::uint16_t port);
// Non-blocking, TCP_NODELAY. Empty when none waits.
UniqueFd accept_tcp(int listener);
std::uint32_t loopback_address();
void set_non_blocking(int fd);

}  // namespace hf::os
