// TCP on IPv4 addresses in network byte order; ports in host byte order.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
// The same, but gives up after `limit_ms`.
Result<UniqueFd> connect_tcp_within(std::uint32_t address, std::uint16_t port, int limit_ms);
std::uint32_t loopback_address();
inline constexpr std::uint32_t every_address = 0;      // to listen at
std::uint32_t local_address(int fd);                   // of a connection
std::vector<std::uint32_t> interface_addresses();      // of this machine, without loopback
std::optional<std::uint32_t> resolve(const std::string& host);  // a name, or an address as text
// From which of this machine's addresses a connection to `host` would come.
std::optional<std::uint32_t> address_towards(const std::string& host);
std::string address_text(std::uint32_t address);
void set_non_blocking(int fd);
// How long ago the other end's system acknowledged something, in ns; nothing: not a TCP connection any more.
std::optional<std::int64_t> last_acknowledged_ns(int fd);

}  // namespace hf::os
