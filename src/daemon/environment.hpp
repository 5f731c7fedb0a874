// Variables of a rank's environment.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hf::daemon {

// Puts `value` first in a variable that is a list with ':', which may be empty or not there. Pure.
void prepend(std::vector<std::string>& environment, std::string_view name, std::string_view value);

}  // namespace hf::daemon
