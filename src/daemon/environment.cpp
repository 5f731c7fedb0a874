#include "daemon/environment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hf::daemon {

void prepend(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  const std::string begin = fmt::format("{}=", name);
  auto at = std::ranges::find_if(environment, [&](const std::string& entry) { return entry.starts_with(begin); });
  if (at == environment.end()) at = environment.insert(at, begin);
  const std::string before = at->substr(begin.size());
  *at = fmt::format("{}{}{}{}", begin, value, before.empty() ? "" : ":", before);
}

}  // namespace hf::daemon
