// The command line of a client.
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "os/print.hpp"

namespace hf::daemon {

// An exit code when the command is over with that: --help, or what is not understood.
inline std::optional<int> parse_client(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  try {
    app.parse(arguments);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    os::write_output(app.help());
    return 0;
  } catch (const CLI::Error& error) {
    os::print_error("{}: {} ({} --help)\n", app.get_name(), error.what(), app.get_name());
    return 2;
  }
}

inline int complain(const CLI::App& app, const std::string& text) {
  os::print_error("{}: {}\n", app.get_name(), text);
  return 1;
}

}  // namespace hf::daemon
