// The two files of JSON: a user's table of collectives, and what was measured of the machine.
#include "base/check.hpp"
#include "core/collectives/choice.hpp"
#include "daemon/collective_rules.hpp"
#include "daemon/message_ways.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr std::int64_t now_s = 1'800'000'000;

}  // namespace

Octets sample(Random& random) {
  static const char* const texts[] = {
      R"({"rules": [{"collective": "bcast", "algorithm": "linear", "nodes": 1, "ranks": 4, "bytes": 0}]})",
      R"({"rules": [{"collective": "allreduce", "algorithm": "ring", "bytes": 9007199254740993, "logging": true}], "by": "me"})",
      R"({"none b": {"at": 1799999999, "direct": [1.5, 2, 3, 4], "copied": [1, 2, 3, 4e0]}})",
      R"({"none b": {"at": -9223372036854775808, "direct": [], "copied": null}})",
      R"({"none b": {"at": 18446744073709551615, "direct": [1e400, -1, 0, 1], "copied": {}}})"};
  Bytes bytes = bytes_of(texts[random() % std::size(texts)]);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  if (auto rules = daemon::parse_collective_rules(text_of(input))) {
    for (const wire::CollectiveRule& rule : *rules) HF_CHECK(core::collectives::valid(rule) && rule.nodes > 0 && rule.ranks > 0);
  }
  if (auto ways = daemon::known_ways(text_of(input), "none b", now_s)) {
    for (double rate : ways->direct) HF_CHECK(rate >= 0 && rate < 1e6);
    static_cast<void>(daemon::direct_from(*ways));
  }
}

}  // namespace hf::fuzz
