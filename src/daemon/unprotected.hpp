// What the user is told when a rank has died that cannot be recovered (design rule 6 and section 6).
#pragma once
#include <string_view>

#include "wire/bootstrap.hpp"

namespace hf::daemon {

constexpr std::string_view why_unprotected(wire::UnprotectReason reason) {
  if (reason == wire::UnprotectReason::threads) {
    return "several of its threads had called MPI, and in which order threads call MPI is not recorded";
  }
  return "the message logs for it had been given up for lack of room (--log-memory, --log-disk)";
}

}  // namespace hf::daemon
