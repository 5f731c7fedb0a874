// Where the kernel puts a program's memory.
#pragma once

namespace hf::os {

// Whether programs can be started so that it is the same each time (personality(2)): not where a container's system call filter forbids it.
bool can_fix_addresses();

}  // namespace hf::os
