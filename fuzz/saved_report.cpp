// A report as `holdfast report` reads it: files of anyone.
#include "daemon/watch/saved_report.hpp"

#include "fuzz.hpp"

namespace hf::fuzz {

Octets sample(Random& random) {
  static const char* const parts[] = {R"("failures":[{"rank":1,"time_s":0.5,"signal":"SIGKILL","detected_after_s":null}])",
                                      R"("lost_nodes":[{"node":1,"time_s":1e3,"why":"x","ranks":[0,1,2],"moved_to":[]}])",
                                      R"("ranks":[{"rank":0,"node":0,"host":"h","unprotected":true,"bytes_sent":18446744073709551615}])",
                                      R"("notes":[{"time_s":-1,"rank":-5,"text":"\u001b\u0000"}])", R"("started_s":1e300)",
                                      R"("programs":[{"command":"a b","ranks":3}])", R"("totals":{"messages_sent":1})"};
  std::string text = R"({"holdfast":"0.1.0","rank_count":3,"node_count":2,"exit_code":-1,"duration_s":0.1)";
  for (const char* part : parts) {
    if (random() % 2) text += std::string(",") + part;
  }
  text += "}";
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  if (auto report = daemon::read_report(text_of(input))) touch(bytes_of(daemon::format_report(*report, true)));
}

}  // namespace hf::fuzz
