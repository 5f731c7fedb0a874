// `holdfast report FILE`.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "daemon/watch/saved_report.hpp"

namespace hf::daemon {
namespace {

constexpr const char* usage =
    "holdfast report [--all] FILE   what a report of 'holdfast run --report FILE' says\n"
    "  --all   all ranks, failures and notes, not the first 32\n";
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

int refuse(const std::string& text) {
  fmt::print(stderr, "holdfast: {}\n", text);
  return 2;
}

}  // namespace

int report_main(const std::vector<std::string>& arguments) {
  bool all = false;
  std::string path;
  for (const std::string& word : arguments) {
    if (word == "--help" || word == "-h") return fmt::print("{}", usage), 0;
    if (word == "--all") all = true;
    else if (word.starts_with("-") && word.size() > 1) return refuse(fmt::format("unknown option {} (see holdfast report --help)", word));
    else if (!path.empty()) return refuse("holdfast report takes one file");
    else path = word;
  }
  if (path.empty()) return refuse("which report? (holdfast report FILE, as 'holdfast run --report FILE' writes it)");
  Result<std::string> text = read_file(path);
  if (!text) return refuse(fmt::format("cannot read {}: {}", path, text.error().text));
  Result<SavedReport> report = read_report(*text);
  if (!report) return refuse(fmt::format("{} is no report of 'holdfast run --report': {}", path, report.error().text));
  const std::string out = format_report(*report, all);
  if (std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0) return 0;
  fmt::print(stderr, "holdfast: cannot write: {}\n", std::strerror(errno));
  return 1;
}

}  // namespace hf::daemon
