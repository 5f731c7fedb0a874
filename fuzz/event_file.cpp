// The file of determinants that another agent has written, and a disk has changed: what of it counts.
#include "base/check.hpp"
#include "core/event_logger/event_file.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

using namespace core::event_logger;
constexpr FileName name{7, 1};

}  // namespace

Octets sample(Random& random) {
  Octets out;
  encode_head(name, out);
  std::uint64_t ends[2] = {}, synced = 0;
  for (std::uint64_t n = random() % 8; n > 0; --n) {
    const auto rank = static_cast<std::int32_t>(random() % 2);
    const auto kind = random() % 8 == 0 ? FileRecord::Kind::cut : FileRecord::Kind::append;
    const std::vector<std::byte> bytes(kind == FileRecord::Kind::append ? random() % 40 : 0);
    const Term term{static_cast<std::uint32_t>(random() % 2)};
    const TestClock last_failed{random() % 4};
    encode({kind, Rank{rank}, term, ends[rank], {random() % 64, TestClock{random() % 4}}, last_failed, bytes}, name, out.size(), synced, out);
    ends[rank] += bytes.size();
    if (random() % 2) synced = out.size();
  }
  return out;
}

void take(Bytes input) {
  std::map<Rank, Found> found;
  const FileRead read = find_in(input, name, {{Rank{0}, Term{2}}, {Rank{1}, Term{1}}}, found);
  HF_CHECK(read.place <= input.size() && (read.end != FileEnd::whole || read.place == input.size()));
  for (const auto& [rank, of] : found) touch(of.bytes);
}

}  // namespace hf::fuzz
