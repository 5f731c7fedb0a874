// What a client writes to a job's socket: cut into lines, then read as requests.
#include "daemon/clients/client_line.hpp"

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace hf::fuzz {

Octets sample(Random& random) {
  static const char* const lines[] = {R"({"request":"status"})", R"({"request":"input","data":"aGVsbG8="})",
                                      R"({"request":"read","position":18446744073709551615})", R"({"request":"kill","now":true})",
                                      R"({"request":["\u00e4",{"a":[[[[1.5e300]]]]}]})", ""};
  std::string text;
  for (std::uint64_t i = random() % 6; i > 0; --i) text += std::string(lines[random() % 6]) + '\n';
  if (random() % 16 == 0) text += std::string(daemon::request_bytes_max + random() % 3, '[') + "\n";
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  daemon::LineSplitter lines(daemon::request_bytes_max);
  lines.add(text_of(input));
  for (;;) {
    auto line = lines.next();
    if (!line || !*line) return;
    Result<daemon::Json> request = daemon::decode_request(**line);
    if (!request) continue;
    touch(bytes_of(daemon::encode_line(*request)));
    if (auto data = daemon::text_member(*request, "data")) touch(bytes_of(daemon::from_base64(*data).value_or("")));
    static_cast<void>(daemon::number_member(*request, "position"));
    static_cast<void>(daemon::flag_member(*request, "now"));
  }
}

}  // namespace hf::fuzz
