// The words of --inject, as users mistype them.
#include "daemon/injection.hpp"

#include "base/check.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {

Octets sample(Random& random) {
  static const char* const words[] = {"kill:rank=1,at=1.5s", "kill:rank=0,call=7", "kill:rank=1,point=send.logged:3",
                                      "kill:random,rate=4/s,seed=1,max=5", "kill:rank=1,at=3ms", "kill:random,rate=0.5/s",
                                      "node:1,at=1s", "pause:node=2,at=1s,for=3s", "partition:0,1|2,at=1s,for=2ms",
                                      "head,at=1s", "head:random,rate=2/s,seed=3"};
  std::string text;
  for (std::uint64_t i = random() % 4; i > 0; --i) text += std::string(words[random() % std::size(words)]) + (i > 1 ? ";" : "");
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  std::vector<daemon::Injection> injections;
  static_cast<void>(daemon::parse_injections(text_of(input), 2, 3, injections));
  for (const daemon::Injection& one : injections) {
    HF_CHECK(one.kind != daemon::Injection::Kind::partition || one.side_of.size() == 3);
    touch(bytes_of(words_of(one)));
  }
}

}  // namespace hf::fuzz
