#include "daemon/collective_rules.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/collectives/choice.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {
namespace {

namespace choice = core::collectives;
using Json = nlohmann::json;

constexpr std::size_t file_bytes_max = 1 << 20;

std::string names_of_collectives() {
  std::string names;
  for (int i = 0; i < wire::collective_count; ++i) {
    names += fmt::format("{}{}", i ? ", " : "", choice::name_of(static_cast<wire::Collective>(i)));
  }
  return names;
}

Result<wire::CollectiveRule> make_rule(std::string_view collective, std::string_view algorithm) {
  const auto of = choice::collective_named(collective);
  if (!of) return fail(fmt::format("'{}' is not a collective with a choice: {}", collective, names_of_collectives()));
  wire::CollectiveRule rule;
  rule.collective = *of;
  const auto wanted = choice::algorithm_named(algorithm);
  if (wanted) rule.algorithm = *wanted;
  if (wanted && choice::valid(rule)) return rule;
  std::string names;
  for (const auto known : choice::algorithms_of(*of)) names += fmt::format("{}{}", names.empty() ? "" : ", ", choice::name_of(known));
  return fail(fmt::format("{} has no algorithm '{}': {}", collective, algorithm, names));
}

Result<std::int64_t> number(const Json& from, const char* name, std::int64_t least, std::int64_t most) {
  if (!from.contains(name)) return least;
  const Json& value = from[name];
  const auto limit = static_cast<std::uint64_t>(most);
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= limit : value.is_number_integer();
  if (!fits || value.get<std::int64_t>() < least) {
    return fail(fmt::format("\"{}\" must be a whole number from {} to {}", name, least, most));
  }
  return value.get<std::int64_t>();
}

Result<wire::CollectiveRule> parse_rule(const Json& from) {
  if (!from.is_object()) return fail("not an object");
  for (const auto& member : from.items()) {
    bool known = false;
    for (const char* name : {"collective", "algorithm", "nodes", "ranks", "bytes", "logging"}) known = known || member.key() == name;
    if (!known) return fail(fmt::format("\"{}\" is not known: collective, algorithm, nodes, ranks, bytes, logging", member.key()));
  }
  for (const char* name : {"collective", "algorithm"}) {
    if (!from.contains(name) || !from[name].is_string()) return fail(fmt::format("\"{}\" must be a string", name));
  }
  auto rule = make_rule(from["collective"].get<std::string>(), from["algorithm"].get<std::string>());
  if (!rule) return rule;
  const auto nodes = number(from, "nodes", 1, INT32_MAX), ranks = number(from, "ranks", 1, INT32_MAX);
  const auto bytes = number(from, "bytes", 0, INT64_MAX);
  for (const auto* given : {&nodes, &ranks, &bytes}) {
    if (!*given) return std::unexpected(given->error());
  }
  if (from.contains("logging")) {
    if (!from["logging"].is_boolean()) return fail("\"logging\" must be true or false");
    rule->logging = from["logging"].get<bool>() ? wire::Logging::on : wire::Logging::off;
  }
  rule->nodes = static_cast<std::int32_t>(*nodes);
  rule->ranks = static_cast<std::int32_t>(*ranks);
  rule->bytes = static_cast<std::uint64_t>(*bytes);
  return rule;
}

Result<CollectiveRules> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string text(file ? file_bytes_max + 1 : 0, '\0');
  if (file) text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (!file || std::ferror(file.get())) {
    return fail(fmt::format("--collectives {}: it cannot be read: {}", path, std::strerror(errno)));
  }
  if (text.size() > file_bytes_max) return fail(fmt::format("--collectives {}: more than {} bytes", path, file_bytes_max));
  auto rules = parse_collective_rules(text);
  if (!rules) return fail(fmt::format("--collectives {}: {}", path, rules.error().text));
  return rules;
}

}  // namespace

Result<CollectiveRules> parse_collective_rules(std::string_view text) {
  const Json table = Json::parse(text, nullptr, false);
  if (table.is_discarded()) return fail("not JSON");
  if (!table.is_object() || !table.contains("rules") || !table["rules"].is_array()) return fail("no array \"rules\" in it");
  CollectiveRules rules;
  for (const Json& one : table["rules"]) {
    auto rule = parse_rule(one);
    if (!rule) return fail(fmt::format("rule {}: {}", rules.size() + 1, rule.error().text));
    rules.push_back(*rule);
  }
  return rules;
}

Result<> read_collective_rules(const std::string& file, const std::vector<std::string>& single, CollectiveRules& rules) {
  if (!file.empty()) {
    auto read = read_file(file);
    if (!read) return std::unexpected(read.error());
    rules = std::move(*read);
  }
  for (const std::string& word : single) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return fail(fmt::format("--collective {}: NAME=ALGORITHM", word));
    auto rule = make_rule(std::string_view(word).substr(0, equals), std::string_view(word).substr(equals + 1));
    if (!rule) return fail(fmt::format("--collective {}: {}", word, rule.error().text));
    std::erase_if(rules, [&](const auto& other) { return other.collective == rule->collective; });
    rules.push_back(*rule);
  }
  if (rules.size() > wire::collective_rules_max) return fail(fmt::format("more than {} rules", wire::collective_rules_max));
  return {};
}

}  // namespace hf::daemon
