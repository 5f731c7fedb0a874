// The numbers of processes.
#pragma once
#include <sys/types.h>

namespace hf::recorder {

pid_t meant(pid_t pid);  // by the program, which knows its own by the number of its first incarnation

}  // namespace hf::recorder
