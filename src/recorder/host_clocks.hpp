// How the clocks that began with the host stand to real time.
#pragma once
#include <cstdint>

namespace hf::recorder {

struct HostClocks {
  std::uint64_t host = 0;                                   // another one: they began at another time
  std::int64_t monotonic = 0, raw = 0, boot = 0, ticks = 0;  // ns that they are ahead of it
};

HostClocks read_host_clocks();

}  // namespace hf::recorder
