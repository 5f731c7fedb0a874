// One connection between the head and an agent, or two agents: frames over non-blocking TCP, and the proof of the job's key.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "daemon/control_messages.hpp"
#include "daemon/launcher/agent_ticket.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class ControlChannel {
 public:
  // `on_frame` for each frame; `on_close` once, when the peer is gone or breaks the format. Either may destroy nothing
  // of this channel itself: the owner drops it later.
  using OnFrame = std::function<void(ControlKind kind, Bytes payload)>;
  using OnClose = std::function<void()>;

  ControlChannel(os::EventLoop& loop, os::UniqueFd fd, OnFrame on_frame, OnClose on_close);
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  template <class T>
  void send(ControlKind kind, const T& body, Bytes tail = {}) {
    send_bytes(kind, std::as_bytes(std::span(&body, 1)), tail);
  }
  void send_bytes(ControlKind kind, Bytes body = {}, Bytes tail = {});
  // From the next frame on; also from inside on_frame.
  void set_handlers(OnFrame on_frame, OnClose on_close) {
    next_on_frame_ = std::move(on_frame);
    on_close_ = std::move(on_close);
  }
  // Frames of more than this are refused: small until the peer has proved itself.
  void set_frame_bytes_max(std::size_t bytes) { frame_bytes_max_ = bytes; }
  // Fault injection: nothing is read or written until it is let go again; what is sent waits.
  void hold(bool on);
  bool closed() const { return closed_; }
  bool malformed() const { return malformed_; }  // closed, for what came was no frame
  bool refused() const { return refused_; }      // closed, for nobody listens there
  void shut();  // ends the connection; on_close is not called
  // When the peer's system acknowledged something last, however busy the peer itself is.
  std::optional<Instant> host_heard(Instant now) const;
  bool all_sent() const { return closed_ || out_.empty(); }
  void flush_blocking();  // before exit: waits until all is sent or the peer is gone

 private:
  void on_events(std::uint32_t events);
  void flush();
  void receive();
  void take_frames();
  void close();

  os::EventLoop& loop_;
  os::UniqueFd fd_;
  OnFrame on_frame_, next_on_frame_;
  OnClose on_close_;
  std::size_t frame_bytes_max_ = 1024;
  std::vector<std::byte> in_, out_;
  std::size_t out_sent_ = 0;
  bool closed_ = false, malformed_ = false, refused_ = false, held_ = false;
};

inline constexpr std::size_t control_frame_bytes_max = 64u << 20;

void make_nonce(std::uint8_t (&nonce)[32]);
// HMAC of role, visitor and both nonces under the job's key.
void make_proof(const JobKey& key, std::string_view role, int node, const std::uint8_t (&visited_nonce)[32],
                const std::uint8_t (&visitor_nonce)[32], std::uint8_t (&proof)[32]);
bool same_proof(const std::uint8_t (&left)[32], const std::uint8_t (&right)[32]);  // in constant time

template <class T>
bool read_struct(Bytes& payload, T& out) {
  if (payload.size() < sizeof(T)) return false;
  std::memcpy(&out, payload.data(), sizeof(T));
  payload = payload.subspan(sizeof(T));
  return true;
}

}  // namespace hf::daemon
