// What an agent is told by whoever starts it. It comes through the agent's stdin: never in arguments, environment or a file.
#pragma once
#include <array>
#include <cstdint>

namespace hf::daemon {

using JobKey = std::array<std::uint8_t, 32>;
// Head and agents exchange copies of memory: they must be of one build.
using BuildId = std::array<std::uint8_t, 20>;

struct AgentTicket {
  // An agent of another build understands these two.
  std::array<char, 8> magic = {'H', 'F', 'T', 'I', 'C', 'K', 'E', 'T'};
  BuildId build{};

  std::int32_t node = 0;
  std::uint16_t port = 0;  // of the head
  std::uint16_t address_count = 0;
  std::uint32_t head_returns_ms = 0;  // another head goes on for one that is lost, within that; 0: the agent ends
  static constexpr std::size_t addresses_max = 8;
  std::array<std::uint32_t, addresses_max> addresses{};  // of the head, in the order in which they are tried
  JobKey key{};
};

// Of this build, and with its fields in range.
bool plausible(const AgentTicket& ticket);

// How an agent ends that cannot join, which launchers explain to the user.
inline constexpr int exit_other_build = 3, exit_head_not_reached = 4;

BuildId own_build();

}  // namespace hf::daemon
