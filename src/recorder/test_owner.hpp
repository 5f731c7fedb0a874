// An owner for tests: what was appended, and divergence as an exception.
#pragma once
#include <stdexcept>
#include <vector>

#include "recorder/owner.hpp"

namespace hf::recorder {

inline std::vector<std::byte> written;

inline void append(const void* event, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(event);
  written.insert(written.end(), from, from + bytes);
}
inline void diverged(const char* what) { throw std::runtime_error(what); }

}  // namespace hf::recorder
