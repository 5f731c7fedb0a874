// Frames between head and agents, and between agents: cut out of the stream as they were put in, whatever follows.
#include "daemon/control_channel.hpp"

#include <sys/socket.h>

#include "base/check.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr std::size_t frame_bytes_max = 4096;

struct Frame {
  std::uint32_t kind = 0;
  Octets body;
  bool operator==(const Frame&) const = default;
};

// The frames of the stream, by the words of control_messages.hpp.
std::vector<Frame> frames_of(Bytes input) {
  std::vector<Frame> out;
  for (ByteReader in(input);;) {
    const auto size = in.get<std::uint32_t>();
    if (!in.ok() || size < sizeof(std::uint32_t) || size > frame_bytes_max) return out;
    Frame frame;
    frame.kind = in.get<std::uint32_t>();
    Bytes body = in.get_bytes(size - sizeof frame.kind);
    if (!in.ok()) return out;
    frame.body.assign(body.begin(), body.end());
    out.push_back(std::move(frame));
  }
}

}  // namespace

Octets sample(Random& random) {
  Octets input;
  ByteWriter writer(input);
  for (std::uint64_t n = random() % 6; n > 0; --n) {
    Octets body(random() % 4 ? random() % 60 : random() % 3000);
    writer.put(static_cast<std::uint32_t>(body.size() + 4));
    writer.put(static_cast<std::uint32_t>(random() % 60));
    writer.put_bytes(body);
  }
  return input;
}

void take(Bytes input) {
  int ends[2];
  HF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  os::UniqueFd other(ends[1]);
  HF_CHECK(::send(other.get(), input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()));
  ::shutdown(other.get(), SHUT_WR);
  os::EventLoop loop;
  std::vector<Frame> seen;
  daemon::ControlChannel channel(
      loop, os::UniqueFd(ends[0]),
      [&](daemon::ControlKind kind, Bytes body) { seen.push_back({static_cast<std::uint32_t>(kind), {body.begin(), body.end()}}); },
      [&] { loop.stop(); });
  channel.set_frame_bytes_max(frame_bytes_max);
  loop.run();
  HF_CHECK(seen == frames_of(input));
}

}  // namespace hf::fuzz
