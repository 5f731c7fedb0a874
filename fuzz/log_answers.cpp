// What an agent answers to a rank that reads the log of a rank over there: records that continue the stream, or `damaged`.
#include <poll.h>
#include <sys/socket.h>

#include "base/check.hpp"
#include "engine/remote_log.hpp"
#include "fuzz.hpp"
#include "os/tcp.hpp"
#include "rail/tcp/stream.hpp"

namespace hf::fuzz {
namespace {

using namespace rail::tcp;
constexpr int ranks = 2;
constexpr std::uint64_t read_id = 1, fetch_id = 2, fetched_bytes = 100;

bool greet(engine::RemoteLog& client, Stream& stream) {
  auto handshake = Handshake::accept({}, Purpose::log, fresh_nonce());
  engine::RemoteAnswer none;
  for (int i = 0; i < 1000 && handshake.state() == Handshake::State::talking; ++i) {
    HF_CHECK(!client.poll(none));
    stream.talk(handshake);
  }
  if (handshake.state() != Handshake::State::proven) return false;
  handshake.answer(Verdict::accepted, 0, {});
  stream.talk(handshake);
  return true;
}

void check(const engine::RemoteAnswer& answer) {
  HF_CHECK(answer.id == read_id || answer.id == fetch_id);
  touch(answer.data);
  std::uint64_t position = 0;
  for (const engine::RemoteRecord& record : answer.run) {
    HF_CHECK(record.header.position == position && record.header.source == 1);
    HF_CHECK(record.omitted || record.payload.size() == wire::payload_in_log(record.header));
    touch(record.payload);
    position = record.header.position + 1;
    break;
  }
}

}  // namespace

Octets sample(Random& random) {
  Octets out;
  ByteWriter writer(out);
  wire::FrameHeader header{.kind = wire::FrameKind::eager, .source = 1, .length = 10};
  header.check = wire::fold(header);
  if (random() % 2) {
    writer.put(wire::LogMessage{wire::LogMessageKind::records, sizeof(wire::RecordsAnswer) + sizeof(wire::RecordEntry) + 10, read_id});
    writer.put(wire::RecordsAnswer{.next = 128, .published = 128, .record_count = 1});
    writer.put(wire::RecordEntry{.header = header, .payload_bytes = 10});
    out.resize(out.size() + 10);
  }
  for (std::uint64_t at = 0; at < fetched_bytes; at += 50) {
    writer.put(wire::LogMessage{wire::LogMessageKind::bytes, sizeof(wire::BytesAnswer) + 50, fetch_id});
    writer.put(wire::BytesAnswer{.offset = at, .length = 50});
    out.resize(out.size() + 50);
  }
  return out;
}

void take(Bytes input) {
  std::uint16_t port = 0;
  auto listening = listen_on(os::loopback_address(), port);
  HF_CHECK(listening.has_value());
  os::UniqueFd listener(*listening);
  engine::RemoteLog client(Rank{0}, Incarnation{0}, ranks, {});
  client.agent(NodeId{0}, os::loopback_address(), port);
  const engine::RemoteStream stream_of_1{NodeId{0}, Rank{1}, Incarnation{0}, Rank{0}};
  HF_CHECK(client.read(stream_of_1, 0, 1000, 0) == read_id && client.fetch(stream_of_1, 0, 0, 0, fetched_bytes) == fetch_id);
  pollfd dialled{listener.get(), POLLIN, 0};
  HF_CHECK(::poll(&dialled, 1, 5000) == 1);
  Endpoint from;
  Stream stream(accept_from(listener.get(), from));
  HF_CHECK(greet(client, stream));
  HF_CHECK(::send(stream.fd(), input.data(), input.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(input.size()));
  ::shutdown(stream.fd(), SHUT_WR);
  engine::RemoteAnswer answer;
  for (int i = 0; i < 8; ++i) {
    while (client.poll(answer)) check(answer);
  }
}

}  // namespace hf::fuzz
