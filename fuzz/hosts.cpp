// Hosts, hostfiles and Slurm's counts, as users and schedulers write them.
#include "daemon/host_list.hpp"

#include "base/check.hpp"
#include "daemon/launcher/slurm_allocation.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {

Octets sample(Random& random) {
  static const char* const words[] = {"a slots=4\n", "b:2\n", "user@c\n", "# none\n", "a:4,b,c:65536", "d max_slots=3 slots=1\n", "4(x2),1",
                                      "ppr:2:node:oversubscribe", "a:4,a:4"};
  std::string text;
  for (std::uint64_t i = random() % 6; i > 0; --i) text += words[random() % std::size(words)];
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  const std::string_view text = text_of(input);
  for (const auto& hosts : {daemon::parse_hosts(text), daemon::parse_hostfile(text, "hosts")}) {
    if (!hosts) continue;
    HF_CHECK(!hosts->empty());
    for (const daemon::Host& host : *hosts) HF_CHECK(!host.name.empty() && host.name[0] != '-');
  }
  bool oversubscribe = false;
  static_cast<void>(daemon::parse_map_by(text, oversubscribe));
  for (int count : daemon::expand_counts(text)) HF_CHECK(count > 0);
}

}  // namespace hf::fuzz
