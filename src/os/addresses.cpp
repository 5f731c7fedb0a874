#include "os/addresses.hpp"

#include <sys/personality.h>

namespace hf::os {

bool can_fix_addresses() {
  const int now = ::personality(0xffffffff);
  if (now < 0 || ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) < 0) return false;
  ::personality(static_cast<unsigned long>(now));
  return true;
}

}  // namespace hf::os
