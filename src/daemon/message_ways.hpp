// How large messages move fastest between two processes of this machine: read by the receiver out of the sender's memory
// (`direct`), or copied by both, through a ring (none) or the sender's log (pessimist). Measured when it is not known, for
// some milliseconds, and kept in a file of the user's for an hour. docs/large-messages.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/bootstrap.hpp"

namespace hf::daemon {

inline constexpr std::array<std::uint64_t, 4> way_sizes{16 << 10, 64 << 10, 256 << 10, 1 << 20};

// GB/s by message size, as in way_sizes; 0: not possible.
struct WayRates {
  std::array<double, way_sizes.size()> direct{}, copied{};
};

// The size from which on a message is to be read out of the sender's memory; UINT64_MAX: none is.
std::uint64_t direct_from(const WayRates& rates);

// Between this process and one that it starts for it. Empty: not within its time, as on a busy machine.
std::optional<WayRates> measure_ways(wire::Protocol protocol);

// What the cache file of this user says, or else what is measured now and written there. Empty: not known.
// `directory`: where the file is; it is made when missing. Errors of the file are as if it were not there.
std::optional<WayRates> ways_of_this_machine(wire::Protocol protocol, const std::string& directory);

// What the text of that file says of a machine, if it is not too old at the time `now_s`.
std::optional<WayRates> known_ways(std::string_view text, const std::string& machine, std::int64_t now_s);

// $XDG_CACHE_HOME/holdfast or $HOME/.cache/holdfast; empty: neither is set.
std::string cache_directory();

}  // namespace hf::daemon
