// The TCP rail: frames between the ranks of a job that share no memory. One connection a pair of ranks, opened on first
// use by connect(), authenticated with the job's key (handshake.hpp), never re-opened by itself. docs/tcp.md.
//
// Owned and used by one thread. Non-blocking; nothing is called back: what happened is pulled with poll(). Frames of one
// connection arrive whole and in order; none is lost or doubled while the connection stands; of one that closes, a
// suffix of what was sent may not arrive (the sender's log has it).
//
// Driving it: poll() until it gives false, then it is safe to sleep on descriptor(); a false poll() does not promise
// that nothing has arrived since, but descriptor() is then readable. connect() again after `closed`, when still wanted (and
// not at once for ever: a dead peer's port refuses in no time).
//
// Two ranks that dial each other at once end up with one connection, that of the lower rank: the higher one sees
// `incoming` for it, and nothing of its own dial any more. A rank whose connection the peer has given up sees `closed`,
// then `incoming`.
#pragma once
#include <memory>
#include <string_view>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "rail/tcp/handshake.hpp"
#include "wire/frame.hpp"

namespace hf::rail::tcp {

struct Peer {
  Rank rank{};
  Incarnation incarnation{};
  std::uint32_t address = 0;  // IPv4, network byte order
  std::uint16_t port = 0;     // host byte order
};

struct Options {
  Rank self{};
  Incarnation incarnation{};
  int rank_count = 1;
  Key job_key{};
  std::uint32_t address = 0;                       // to listen on; IPv4, network byte order
  std::uint64_t payload_bytes_max = 1 << 20;       // of one frame; a longer one is a protocol error of the peer
  std::uint64_t output_bytes = 256 << 10;          // queued per connection, beside one frame
  std::int64_t handshake_timeout_ms = 30'000;      // a computing peer does not answer: not short
  int half_open_max = 256;                         // accepted and not yet authenticated; more wait in the kernel
};

struct Event {
  enum Kind {
    opened,    // a connection that we dialled is open. opening: the peer's
    incoming,  // an authenticated peer waits for accept() or refuse(). opening: the peer's
    head,      // header of a frame whose large payload is still coming: place() may be called before the next poll()
    frame,     // header and payload
    closed,    // a connection, dial or incoming is gone and nothing more comes of it; reason says why, for people
    stranger,  // someone without the job's key was refused; reason is the line for the user. Once an address
  } kind{};
  Rank peer{};
  Incarnation incarnation{};
  bool established = false;   // closed: the connection was open
  wire::Opening opening;
  wire::FrameHeader header;
  Bytes payload;              // valid until the next poll(), or close() of that peer
  bool placed = false;        // frame: the payload went to where place() said, or was dropped by unplace(), and is not in `payload`
  std::string_view reason;    // valid until the next poll()
};

class TcpRail {
 public:
  static Result<std::unique_ptr<TcpRail>> open(const Options& options);
  ~TcpRail();
  TcpRail(const TcpRail&) = delete;
  TcpRail& operator=(const TcpRail&) = delete;

  std::uint16_t port() const;  // host byte order
  int descriptor() const;      // readable when poll() has something to do, or queued output can be written

  // Dials that incarnation of a peer; `position`: see wire::Opening. Ends in `opened`, `incoming` (the peer dialled too)
  // or `closed`. No effect while a connection, dial or unanswered incoming of the same incarnation is there. An
  // incarnation not known yet becomes known, as by peer_incarnation(); an older one is `closed` at once.
  void connect(const Peer& peer, std::uint64_t position);

  // Answers `incoming`: the connection is open at once (no `opened` follows). False: it is gone, `closed` says so.
  bool accept(Rank peer, std::uint64_t position);
  void refuse(Rank peer);

  // Fault injection: nothing is read from that peer or written to it, and it is not dialled, until it is let go again. What it
  // dials is dropped. Connections stand, send() finds no room; connect() has no effect and is to be called again afterwards.
  void hold(Rank peer, bool on);

  // The newest incarnation known of a peer. Older connections and dials are dropped without an event, and older ones
  // are refused from now on. (An authenticated dial of a newer incarnation does the same, with `closed` events.)
  void peer_incarnation(Rank peer, Incarnation newest);

  bool is_open(Rank peer) const;

  // Takes a frame whole or not at all. False: no room, or not open: try later. `pieces` are the payload, in all exactly
  // wire::payload_on_rail(header) bytes and at most payload_bytes_max; they are copied or sent before this returns.
  // `lasting`: the same bytes (perhaps the same pieces) where they stay as they are until borrows(peer) is false; what the socket
  // does not take at once is then not copied but sent from there, and until then nothing else is taken. Empty: nowhere.
  // `before`: whole frames that go directly before it, taken with it or not at all; copied.
  bool send(Rank peer, const wire::FrameHeader& header, std::span<const Bytes> pieces, std::span<const Bytes> lasting = {},
            Bytes before = {});
  bool borrows(Rank peer) const;
  void flush();  // writes of what is queued as much as the kernel takes; poll() does so too

  // Bytes of frames taken by send() that are queued here or not yet acknowledged by the peer's kernel.
  std::uint64_t unconfirmed_bytes(Rank peer) const;
  // Both sides wait for the other's confirmation before they end: what was read is confirmed now, not with the next frame.
  void confirm(Rank peer);

  bool poll(Event& event);

  // After `head`: the payload of that frame goes to `target`, of its exact size, which must stay until `frame` (or
  // `closed`) is there, or until unplace(): what still comes of it is then dropped. unplace() without effect when nothing is placed.
  void place(Rank peer, MutableBytes target);
  void unplace(Rank peer);
  std::uint64_t bytes_arrived() const;

  // Drops connection, dial and incoming of a peer, and what was queued. No event follows, and queued ones are withdrawn.
  void close(Rank peer);

 private:
  class Impl;
  explicit TcpRail(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hf::rail::tcp
