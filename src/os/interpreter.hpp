// What a program is run by: the interpreter of a script, the loader of a binary.
#pragma once
#include <string>

namespace hf::os {

// Why the program cannot be run although it is there: its interpreter is not, for which the system says only that something is not there.
// Empty: that is not why. Relative paths are meant in `directory` (empty: the current one).
std::string why_no_interpreter(const std::string& path, const std::string& directory);

}  // namespace hf::os
