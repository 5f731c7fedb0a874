// `holdfast report FILE`.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "daemon/client_app.hpp"
#include "daemon/watch/saved_report.hpp"
#include "os/print.hpp"

namespace hf::daemon {
namespace {

constexpr std::size_t file_bytes_max = 256u << 20;

Result<std::string> read_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return fail(std::strerror(errno));
  std::string text;
  char bytes[65536];
  while (std::size_t n = std::fread(bytes, 1, sizeof bytes, file.get())) {
    text.append(bytes, n);
    if (text.size() > file_bytes_max) return fail("it is too long for a report");
  }
  if (std::ferror(file.get())) return fail(std::strerror(errno));
  return text;
}

}  // namespace

int report_main(const std::vector<std::string>& arguments) {
  CLI::App app("What a report says that 'holdfast run --report FILE' has written.", "holdfast report");
  bool all = false;
  std::string path;
  app.add_flag("--all", all, fmt::format("all ranks, failures and notes, not the first {}", report_rows_max));
  app.add_option("file", path, "the report")->required();
  if (auto code = parse_client(app, arguments)) return *code;
  Result<std::string> text = read_file(path);
  if (!text) return complain(app, fmt::format("cannot read {}: {}", path, text.error().text)), 2;
  Result<SavedReport> report = read_report(*text);
  if (!report) return complain(app, fmt::format("{} is no report of 'holdfast run --report': {}", path, report.error().text)), 2;
  os::write_output(format_report(*report, all));
  return 0;
}

}  // namespace hf::daemon
