// On what of other ranks a rank depends, as the records of its event stream say (docs/optimist.md): how far that was looked at, and what of it
// was not stable then.
#pragma once
#include <cstdint>
#include <optional>

#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/dependencies.hpp"

namespace hf::daemon {

struct StreamDependencies {
  std::uint64_t looked_at = 0;  // bytes
  std::optional<core::vprotocol::DependencyVector> vector;
  core::vprotocol::RecordedDependencies recorded;
};

}  // namespace hf::daemon
