// Frames of a rank on another node that has proved itself: what the rail gives is well formed, or the connection ends.
#include <poll.h>
#include <sys/socket.h>

#include "base/check.hpp"
#include "fuzz.hpp"
#include "os/tcp.hpp"
#include "rail/tcp/stream.hpp"
#include "rail/tcp/tcp_rail.hpp"

namespace hf::fuzz {
namespace {

using namespace rail::tcp;
constexpr int ranks = 4;
constexpr std::uint64_t payload_max = 64 << 10;
const Rank self{0}, peer{1};

// Connects and proves itself as the peer.
bool greet(TcpRail& rail, Stream& stream) {
  Introduction introduction{.opening = {.rank = peer.value}, .target = self.value, .dial = 1};
  auto handshake = Handshake::dial({}, Purpose::rail, fresh_nonce(), introduction);
  for (int i = 0; i < 1000 && handshake.state() == Handshake::State::talking; ++i) {
    stream.talk(handshake);
    for (Event event; rail.poll(event);) {
      if (event.kind == Event::incoming) rail.accept(event.peer, 0);
    }
  }
  return handshake.state() == Handshake::State::done;
}

}  // namespace

Octets sample(Random& random) {
  Octets out;
  ByteWriter writer(out);
  for (std::uint64_t n = random() % 6; n > 0; --n) {
    wire::FrameHeader header;
    header.kind = static_cast<wire::FrameKind>(1 + random() % 8);
    header.source = peer.value;
    header.length = random() % 3 ? random() % 200 : random() % 40'000;
    writer.put(header);
    out.resize(out.size() + wire::payload_on_rail(header));
  }
  return out;
}

void take(Bytes input) {
  Options options;
  options.self = self;
  options.rank_count = ranks;
  options.address = os::loopback_address();
  options.payload_bytes_max = payload_max;
  auto rail = TcpRail::open(options);
  HF_CHECK(rail.has_value());
  Stream stream(dial({options.address, (*rail)->port()}));
  HF_CHECK(greet(**rail, stream));
  const ssize_t n = ::send(stream.fd(), input.data(), input.size(), MSG_NOSIGNAL);
  HF_CHECK(n == static_cast<ssize_t>(input.size()));
  ::shutdown(stream.fd(), SHUT_WR);
  Octets target;
  bool place = false;
  for (bool over = false; !over;) {
    Event event;
    if (!(*rail)->poll(event)) {
      pollfd ready{(*rail)->descriptor(), POLLIN, 0};
      HF_CHECK(::poll(&ready, 1, 5000) == 1);
      continue;
    }
    over = event.kind == Event::closed;
    if (event.kind != Event::head && event.kind != Event::frame) continue;
    const std::uint64_t payload = wire::payload_on_rail(event.header);
    HF_CHECK(event.peer == peer && payload <= payload_max && event.header.source == peer.value);
    if (event.kind == Event::frame && !event.placed) {
      HF_CHECK(event.payload.size() == payload);
      touch(event.payload);
    } else if (event.kind == Event::head && std::exchange(place, !place)) {
      target.resize(payload);
      (*rail)->place(peer, target);
    }
  }
}

}  // namespace hf::fuzz
