// The command line of a client.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace hf::daemon {

// An exit code when the command is over with that: --help, or what is not understood.
inline std::optional<int> parse_client(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  try {
    app.parse(arguments);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::Error& error) {
    fmt::print(stderr, "{}: {} ({} --help)\n", app.get_name(), error.what(), app.get_name());
    return 2;
  }
}

inline int complain(const CLI::App& app, const std::string& text) {
  fmt::print(stderr, "{}: {}\n", app.get_name(), text);
  return 1;
}

}  // namespace hf::daemon
