#include "daemon/injection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "wire/points.hpp"

namespace hf::daemon {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

template <class T>
bool parse_number(std::string_view text, T& out) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

bool parse_duration(std::string_view text, std::int64_t& ns) {
  double unit = 1e9;
  auto ends = [&](std::string_view suffix, double value) {
    if (!text.ends_with(suffix)) return false;
    text.remove_suffix(suffix.size());
    unit = value;
    return true;
  };
  if (!ends("ms", 1e6) && !ends("us", 1e3)) ends("s", 1e9);
  double value = 0;
  if (!parse_number(text, value) || !(value >= 0) || value > 1e9) return false;
  ns = static_cast<std::int64_t>(value * unit);
  return true;
}

Result<Injection> parse_random(std::string_view spec, const Fields& fields) {
  Injection out;
  out.kind = Injection::Kind::random;
  out.seed_given = false;
  for (const auto& [key, value] : fields) {
    bool good = false;
    if (key == "random") {
      good = value.empty();
    } else if (key == "rate") {
      std::string_view number = value;
      if (number.ends_with("/s")) number.remove_suffix(2);
      good = parse_number(number, out.rate_per_s) && out.rate_per_s > 0;
    } else if (key == "seed") {
      good = out.seed_given = parse_number(value, out.seed);
    } else if (key == "max") {
      good = parse_number(value, out.kills_max);
    }
    if (!good) return fail(fmt::format("--inject {}: '{}' is not understood", spec, key));
  }
  if (out.rate_per_s == 0) return fail(fmt::format("--inject {}: random needs a rate, as in rate=4/s", spec));
  return out;
}

// NAME or NAME:N, of a named point in the code. False: not understood; a name that there is not is understood.
bool parse_point(const std::string& value, std::string& out) {
  const std::size_t colon = value.rfind(':');
  std::uint64_t pass = 1;
  if (colon != std::string::npos && (!parse_number(std::string_view(value).substr(colon + 1), pass) || pass == 0)) return false;
  const std::string name = value.substr(0, colon);
  out = fmt::format("{}:{}", name, pass);
  return !name.empty() && name.find_first_of("=;,") == std::string::npos;
}

// "NAME:N", whose name must be one of these.
template <const auto& points>
Result<> check_point(std::string_view spec, std::string_view point) {
  const std::string_view name = point.substr(0, point.rfind(':'));
  if (wire::is_point<points>(name)) return {};
  return fail(fmt::format("--inject {}: there is no point {}; there are {}", spec, name, fmt::join(points, ", ")));
}

Result<Injection> parse_kill(std::string_view spec, const Fields& fields, int rank_count) {
  Injection out;
  int conditions = 0;
  bool rank_given = false;
  for (const auto& [key, value] : fields) {
    bool good = false;
    if (key == "rank") {
      good = rank_given = parse_number(value, out.rank);
    } else if (key == "at") {
      out.kind = Injection::Kind::at_time;
      good = parse_duration(value, out.at_ns);
      ++conditions;
    } else if (key == "call") {
      out.kind = Injection::Kind::at_call;
      good = parse_number(value, out.call) && out.call > 0;
      ++conditions;
    } else if (key == "point") {
      out.kind = Injection::Kind::at_point;
      good = parse_point(value, out.point);
      ++conditions;
    }
    if (!good) return fail(fmt::format("--inject {}: '{}={}' is not understood", spec, key, value));
  }
  if (!rank_given) return fail(fmt::format("--inject {}: which rank? (rank=R, or kill:random)", spec));
  if (out.rank < 0 || out.rank >= rank_count) {
    return fail(fmt::format("--inject {}: there is no rank {} in a job of {}", spec, out.rank, rank_count));
  }
  if (conditions != 1) return fail(fmt::format("--inject {}: when? exactly one of at=, call= or point=", spec));
  if (out.kind == Injection::Kind::at_point) {
    if (Result<> known = check_point<wire::rank_points>(spec, out.point); !known) return std::unexpected(known.error());
  }
  return out;
}

// node:N,at=T, and with a duration pause:node=N,at=T,for=T and unshared:node=N,at=T,for=T; disk:node=N,at=T with one or without.
Result<Injection> parse_node(std::string_view spec, const Fields& fields, Injection::Kind kind, int agent_count) {
  Injection out;
  out.kind = kind;
  const bool has_duration = kind != Injection::Kind::node;
  bool node = false, at = false, lasts = !has_duration || kind == Injection::Kind::disk;
  for (const auto& [key, value] : fields) {
    bool good = false;
    if (key == "at") good = at = parse_duration(value, out.at_ns);
    else if (key == "for" && has_duration) good = lasts = parse_duration(value, out.for_ns);
    else if (key == "node") good = node = parse_number(value, out.node);
    else if (kind == Injection::Kind::node && value.empty()) good = node = parse_number(key, out.node);
    if (!good) return fail(fmt::format("--inject {}: '{}' is not understood", spec, key));
  }
  if (!node || !at || !lasts) {
    const std::string_view verb = spec.substr(0, spec.find(':'));
    return fail(fmt::format("--inject {}: give it as {}", spec, has_duration ? fmt::format("{}:node=N,at=1s,for=3s", verb) : "node:N,at=1s"));
  }
  if (out.node < 0 || out.node >= agent_count) {
    return fail(fmt::format("--inject {}: there is no node {} among {}, spare ones and event loggers counted", spec, out.node, agent_count));
  }
  return out;
}

// "0,1|2,3": the group of every agent.
bool parse_groups(std::string_view text, int agent_count, std::vector<std::uint16_t>& side_of) {
  std::vector<bool> named(static_cast<std::size_t>(agent_count));
  side_of.assign(named.size(), 0);
  for (std::uint16_t group = 0;; ++group) {
    std::string_view members = text.substr(0, text.find('|'));
    const bool last = members.size() == text.size();
    text.remove_prefix(std::min(members.size() + 1, text.size()));
    if (members.empty()) return false;
    while (!members.empty()) {
      const std::string_view member = members.substr(0, members.find(','));
      members.remove_prefix(std::min(member.size() + 1, members.size()));
      std::size_t agent = 0;
      if (!parse_number(member, agent) || agent >= named.size() || named[agent]) return false;
      named[agent] = true;
      side_of[agent] = group;
    }
    if (last) return group > 0;
  }
}

// partition:0,1|2,3,at=T,for=T: the groups are what stands before the first NAME=VALUE.
Result<Injection> parse_partition(std::string_view spec, std::string_view words, int agent_count) {
  const std::size_t equals = std::min(words.find('='), words.size());
  const std::size_t comma = words.substr(0, equals).rfind(',');
  Injection out;
  out.kind = Injection::Kind::partition;
  bool good = comma != std::string_view::npos && parse_groups(words.substr(0, comma), agent_count, out.side_of), at = false, lasts = false;
  std::string_view rest = good ? words.substr(comma + 1) : std::string_view();
  while (good && !rest.empty()) {
    const std::string_view field = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    if (field.starts_with("at=") && !at) good = at = parse_duration(field.substr(3), out.at_ns);
    else if (field.starts_with("for=") && !lasts) good = lasts = parse_duration(field.substr(4), out.for_ns);
    else good = false;
  }
  if (good && at && lasts) return out;
  return fail(fmt::format("--inject {}: give it as partition:0,1|2,3,at=1s,for=3s, each of the {} nodes, spare ones and event loggers counted, at most "
                          "once",
                          spec, agent_count));
}

Result<Fields> split_fields(std::string_view spec, std::string_view rest) {
  Fields fields;
  while (!rest.empty()) {
    std::string_view field = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    std::size_t equals = field.find('=');
    std::string key(field.substr(0, equals));
    std::string value(equals == std::string_view::npos ? "" : field.substr(equals + 1));
    if (!fields.emplace(key, value).second) return fail(fmt::format("--inject {}: '{}' is given twice", spec, key));
  }
  return fields;
}

// covered:calls=N,rank=R; the rank may be left out.
Result<Injection> parse_covered(std::string_view spec, const Fields& fields, int rank_count) {
  Injection out;
  out.kind = Injection::Kind::covered;
  out.rank = -1;
  for (const auto& [key, value] : fields) {
    const bool good = key == "rank" ? parse_number(value, out.rank) : key == "calls" && parse_number(value, out.call) && out.call > 0;
    if (!good) return fail(fmt::format("--inject {}: '{}={}' is not understood", spec, key, value));
  }
  if (out.call == 0) return fail(fmt::format("--inject {}: at each how many MPI calls? (calls=N)", spec));
  if (out.rank < -1 || out.rank >= rank_count || (out.rank == -1 && fields.contains("rank"))) {
    return fail(fmt::format("--inject {}: there is no rank {} in a job of {}", spec, out.rank, rank_count));
  }
  return out;
}

// head,at=T, head,point=NAME:N and head:random,rate=R/s.
Result<Injection> parse_head(std::string_view spec) {
  Result<Fields> fields = split_fields(spec, spec.size() > 5 ? spec.substr(5) : "");
  if (!fields) return std::unexpected(fields.error());
  Injection out;
  out.kind = Injection::Kind::head;
  const bool timed = spec.starts_with("head,") && fields->size() == 1 && fields->contains("at");
  if (timed && parse_duration((*fields)["at"], out.at_ns)) return out;
  if (spec.starts_with("head,") && fields->size() == 1 && fields->contains("point")) {
    out.kind = Injection::Kind::head_point;
    if (parse_point((*fields)["point"], out.point)) {
      Result<> known = check_point<wire::head_points>(spec, out.point);
      return known ? Result<Injection>(out) : std::unexpected(known.error());
    }
  }
  if (!spec.starts_with("head:") || !fields->contains("random") || fields->contains("max")) {
    return fail(fmt::format("--inject {}: give it as head,at=1s, head,point=NAME:N or head:random,rate=0.2/s", spec));
  }
  Result<Injection> random = parse_random(spec, *fields);
  if (random) random->kind = Injection::Kind::head_random;
  return random;
}

Result<Injection> parse_one(std::string_view spec, int rank_count, int agent_count) {
  if (spec.starts_with("head")) return parse_head(spec);
  const std::string_view verb = spec.substr(0, spec.find(':') == std::string_view::npos ? 0 : spec.find(':') + 1);
  if (verb == "partition:") return parse_partition(spec, spec.substr(verb.size()), agent_count);
  if (verb != "kill:" && verb != "node:" && verb != "pause:" && verb != "unshared:" && verb != "disk:" && verb != "covered:") {
    return fail(
        fmt::format("--inject {}: only kill:..., node:..., pause:..., unshared:..., disk:..., partition:..., covered:... and head are known (kill:rank=R,at=T, kill:rank=R,call=N, "
                    "kill:rank=R,point=NAME:N, kill:random,rate=R/s, node:N,at=T, node:random,rate=R/s, pause:node=N,at=T,for=T, "
                    "unshared:node=N,at=T,for=T, disk:node=N,at=T,for=T, partition:0,1|2,3,at=T,for=T, covered:calls=N,rank=R, head,at=T, head,point=NAME:N)",
                    spec));
  }
  Result<Fields> split = split_fields(spec, spec.substr(verb.size()));
  if (!split) return std::unexpected(split.error());
  const Fields& fields = *split;
  using Kind = Injection::Kind;
  if (verb == "covered:") return parse_covered(spec, fields, rank_count);
  if (verb == "pause:") return parse_node(spec, fields, Kind::pause, agent_count);
  if (verb == "disk:") return parse_node(spec, fields, Kind::disk, agent_count);
  if (verb == "unshared:") return parse_node(spec, fields, Kind::unshared, agent_count);
  const bool random = fields.contains("random");
  if (verb == "node:" && !random) return parse_node(spec, fields, Kind::node, agent_count);
  if (!random) return parse_kill(spec, fields, rank_count);
  Result<Injection> out = parse_random(spec, fields);
  if (out && verb == "node:") out->kind = Kind::node_random;
  return out;
}

}  // namespace

Result<> parse_injections(std::string_view text, int rank_count, int agent_count, std::vector<Injection>& out) {
  while (!text.empty()) {
    std::string_view spec = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(spec.size() + 1, text.size()));
    if (spec.empty()) continue;
    Result<Injection> injection = parse_one(spec, rank_count, agent_count);
    if (!injection) return std::unexpected(injection.error());
    auto same_rank = [&](const Injection& other) {
      return other.kind == Injection::Kind::at_point && other.rank == injection->rank;
    };
    if (injection->kind == Injection::Kind::at_point && std::ranges::any_of(out, same_rank)) {
      return fail(fmt::format("--inject {}: rank {} has a point already, and can have one", spec, injection->rank));
    }
    out.push_back(std::move(*injection));
  }
  return {};
}

std::string words_of(const Injection& injection) {
  const double at_s = static_cast<double>(injection.at_ns) / 1e9;
  switch (injection.kind) {
    case Injection::Kind::node: return fmt::format("node:{},at={}s", injection.node, at_s);
    case Injection::Kind::pause: return fmt::format("pause:node={},at={}s", injection.node, at_s);
    case Injection::Kind::unshared: return fmt::format("unshared:node={},at={}s", injection.node, at_s);
    case Injection::Kind::disk: return fmt::format("disk:node={},at={}s", injection.node, at_s);
    case Injection::Kind::head: return fmt::format("head,at={}s", at_s);
    case Injection::Kind::head_point: return fmt::format("head,point={}", injection.point);
    case Injection::Kind::at_call: return fmt::format("kill:rank={},call={}", injection.rank, injection.call);
    case Injection::Kind::at_point: return fmt::format("kill:rank={},point={}", injection.rank, injection.point);
    case Injection::Kind::partition: break;
    default: return fmt::format("kill:rank={},at={}s", injection.rank, at_s);
  }
  std::map<std::uint16_t, std::vector<std::size_t>> groups;
  for (std::size_t agent = 0; agent < injection.side_of.size(); ++agent) groups[injection.side_of[agent]].push_back(agent);
  std::string text;
  for (const auto& [side, agents] : groups) text += fmt::format("{}{}", text.empty() ? "" : "|", fmt::join(agents, ","));
  return fmt::format("partition:{},at={}s", text, at_s);
}

RandomKills::RandomKills(const Injection& injection)
    : random_(injection.seed), rate_per_s_(injection.rate_per_s), left_(injection.kills_max) {
  advance();
}

double RandomKills::uniform() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

void RandomKills::advance() {
  next_ns_ += static_cast<std::int64_t>(-std::log1p(-uniform()) / rate_per_s_ * 1e9);
}

std::size_t RandomKills::choose(std::size_t running) {
  std::size_t index = std::min(static_cast<std::size_t>(uniform() * static_cast<double>(running)), running - 1);
  --left_;
  advance();
  return index;
}

void RandomKills::skip() {
  uniform();
  advance();
}

}  // namespace hf::daemon
