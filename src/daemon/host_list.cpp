#include "daemon/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace hf::daemon {
namespace {

constexpr int slots_max = 1 << 16;
constexpr std::string_view blank = " \t\r";

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1 || value > slots_max) return std::nullopt;
  return value;
}

// "a" or "a:4".
Result<Host> parse_host(std::string_view text) {
  const std::size_t colon = text.find(':');
  Host host{std::string(text.substr(0, colon)), slots_not_said};
  // A name that begins with a dash would be taken for an option of ssh.
  if (host.name.empty() || host.name[0] == '-') return fail(fmt::format("'{}' is not a host (as in a, a:4 or user@a:4)", text));
  if (colon == std::string_view::npos) return host;
  auto slots = number(text.substr(colon + 1));
  if (!slots) return fail(fmt::format("'{}': after the colon comes the number of slots, from 1 on (as in {}:4)", text, host.name));
  host.slots = *slots;
  return host;
}

void add(std::vector<Host>& hosts, Host host) {
  auto same = std::ranges::find(hosts, host.name, &Host::name);
  if (same == hosts.end()) return hosts.push_back(std::move(host));
  same->slots = std::max(same->slots, 1) + std::max(host.slots, 1);
}

Result<Host> parse_line(const std::vector<std::string_view>& words) {
  Result<Host> host = parse_host(words[0]);
  for (std::size_t i = 1; host && i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view key = words[i].substr(0, equals);
    if (key == "max_slots" || key == "max-slots") continue;  // no more than slots are taken anyway
    auto slots = key == "slots" && equals != std::string_view::npos ? number(words[i].substr(equals + 1)) : std::nullopt;
    if (!slots) return fail(fmt::format("'{}' is not understood (as in: a slots=4)", words[i]));
    host->slots = *slots;
  }
  return host;
}

}  // namespace

Result<std::vector<Host>> parse_hosts(std::string_view text) {
  std::vector<Host> out;
  for (std::string_view word : split(text, ",")) {
    Result<Host> host = parse_host(word);
    if (!host) return std::unexpected(host.error());
    add(out, std::move(*host));
  }
  if (out.empty()) return fail("no host is named (as in --hosts a:4,b:4)");
  return out;
}

Result<std::vector<Host>> parse_hostfile(std::string_view text, std::string_view name) {
  std::vector<Host> out;
  int line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    const auto words = split(line.substr(0, line.find('#')), blank);
    if (words.empty()) continue;
    Result<Host> host = parse_line(words);
    if (!host) return fail(fmt::format("{}:{}: {}", name, line_number, host.error().text));
    add(out, std::move(*host));
  }
  if (out.empty()) return fail(fmt::format("{} names no host", name));
  return out;
}

Result<MapBy> parse_map_by(std::string_view text, bool& oversubscribe) {
  constexpr std::string_view forms = "node, slot or ppr:N:node";
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view share = ":oversubscribe";
  if (low.ends_with(share)) {
    oversubscribe = true;
    low.resize(low.size() - share.size());
  }
  if (low == "slot" || low.empty()) return MapBy{};
  if (low == "node") return MapBy{MapBy::Kind::node, 0};
  const auto parts = split(low, ":");
  if (parts.size() == 3 && parts[0] == "ppr" && parts[2] == "node") {
    if (auto count = number(parts[1])) return MapBy{MapBy::Kind::per_node, *count};
  }
  return fail(fmt::format("--map-by {}: {}", text, forms));
}

}  // namespace hf::daemon
