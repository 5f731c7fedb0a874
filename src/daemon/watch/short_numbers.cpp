#include "daemon/watch/short_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hf::daemon {
namespace {

std::string with_unit(double value, double step, const char* units) {
  if (!(value >= 0)) return "-";
  if (value < 9999.5) return fmt::format("{:.0f}", value);
  const char* unit = units - 1;
  while (value >= 999.5 && (unit + 1)[0] != '\0') {
    value /= step;
    ++unit;
  }
  if (value < 9.995) return fmt::format("{:.2f}{}", value, *unit);
  return value < 99.95 ? fmt::format("{:.1f}{}", value, *unit) : fmt::format("{:.0f}{}", value, *unit);
}

// Bytes of the UTF-8 character at the front; 0: it is none.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t n = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  // Controls beyond ASCII: U+0080 to U+009F.
  return n == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0 ? 0 : n;
}

}  // namespace

std::string short_count(double value) { return with_unit(value, 1000, "kMGTPE"); }
std::string short_bytes(double value) { return with_unit(value, 1024, "KMGTPE"); }

std::string short_time(double seconds) {
  if (!(seconds >= 0)) return "-";
  if (seconds < 0.9995) return fmt::format("{:.3f}s", seconds);
  if (seconds < 9.995) return fmt::format("{:.2f}s", seconds);
  if (seconds < 99.95) return fmt::format("{:.1f}s", seconds);
  if (seconds > 1e12) return "-";
  const auto s = static_cast<long long>(seconds + 0.5);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string number_or_dash(std::optional<std::uint64_t> number) { return number ? fmt::to_string(*number) : "-"; }

std::string plural(std::uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string printable(std::string text, std::size_t bytes_max) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t n = character(rest);
    const bool plain = n > 1 || (n == 1 && rest[0] >= ' ' && rest[0] != 0x7f);
    if (out.size() + (plain ? n : 1) > bytes_max) break;
    out += plain ? rest.substr(0, n) : "?";
    rest.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

}  // namespace hf::daemon
