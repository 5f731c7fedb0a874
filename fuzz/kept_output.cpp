// The records of kept output, as a file of the user may hold them.
#include "daemon/clients/kept_output.hpp"

#include "fuzz.hpp"

namespace hf::fuzz {

Octets sample(Random& random) {
  Octets bytes;
  ByteWriter out(bytes);
  for (std::uint64_t i = random() % 6; i > 0; --i) {
    const std::string text(random() % 200 + 1, 'x');
    const auto stream = random() % 2 ? daemon::KeptStream::out : daemon::KeptStream::error;
    daemon::KeptRecordHead head{static_cast<std::uint32_t>(text.size()), stream, random() % 2 == 0};
    head.mark = {static_cast<std::int32_t>(random() % 4) - 1, static_cast<std::uint32_t>(random() % 2), random(), random()};
    out.put(head);
    out.put_bytes(bytes_of(text));
  }
  return bytes;
}

void take(Bytes input) {
  auto used = daemon::decode_kept(input, [](const daemon::KeptRecordHead&, std::string_view bytes) { touch(bytes_of(bytes)); });
  if (used && *used > input.size()) std::abort();
}

}  // namespace hf::fuzz
