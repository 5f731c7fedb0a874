#include "daemon/control_channel.hpp"

#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "os/tcp.hpp"

namespace hf::daemon {

ControlChannel::ControlChannel(os::EventLoop& loop, os::UniqueFd fd, OnFrame on_frame, OnClose on_close)
    : loop_(loop), fd_(std::move(fd)), on_frame_(std::move(on_frame)), on_close_(std::move(on_close)) {
  os::set_non_blocking(fd_.get());
  loop_.add(fd_.get(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
}

ControlChannel::~ControlChannel() {
  loop_.remove(fd_.get());
}

void ControlChannel::send_bytes(ControlKind kind, Bytes body, Bytes tail) {
  if (closed_) return;
  ByteWriter out(out_);
  out.put(static_cast<std::uint32_t>(sizeof kind + body.size() + tail.size()));
  out.put(kind);
  out.put_bytes(body);
  out.put_bytes(tail);
  flush();
}

void ControlChannel::hold(bool on) {
  if (closed_ || std::exchange(held_, on) == on) return;
  if (on) return loop_.remove(fd_.get());
  loop_.add(fd_.get(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
  flush();
  take_frames();
}

void ControlChannel::flush() {
  if (held_) return;
  while (out_sent_ < out_.size()) {
    ssize_t n = ::send(fd_.get(), out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;  // no room: EPOLLOUT comes; an error: the reading side sees the end, after what still arrived
    out_sent_ += static_cast<std::size_t>(n);
  }
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  } else if (out_sent_ > out_.size() / 2) {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_sent_));
    out_sent_ = 0;
  }
  if (!closed_) loop_.modify(fd_.get(), out_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

std::optional<Instant> ControlChannel::host_heard(Instant now) const {
  if (closed_ || held_) return std::nullopt;
  const auto ago_ns = os::last_acknowledged_ns(fd_.get());
  return ago_ns ? std::optional(Instant(now.value - *ago_ns)) : std::nullopt;
}

void ControlChannel::flush_blocking() {
  while (!closed_ && !held_ && !out_.empty()) {
    pollfd wait{fd_.get(), POLLOUT, 0};
    if (::poll(&wait, 1, 5000) <= 0 || (wait.revents & (POLLERR | POLLHUP))) return;
    flush();
  }
}

void ControlChannel::on_events(std::uint32_t events) {
  if (events & EPOLLOUT) flush();
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive();
}

void ControlChannel::receive() {
  std::array<std::byte, 64 * 1024> buffer;  // not cleared: that would take longer than most frames
  const ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (n > 0) in_.insert(in_.end(), buffer.begin(), buffer.begin() + n);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  refused_ = n < 0 && errno == ECONNREFUSED;
  if (n <= 0) return close();
  take_frames();
}

void ControlChannel::take_frames() {
  std::size_t used = 0;
  while (!closed_ && !held_) {
    Bytes left = Bytes(in_).subspan(used);
    std::uint32_t size = 0;
    if (!read_struct(left, size)) break;
    malformed_ = size < sizeof(ControlKind) || size > frame_bytes_max_;
    if (malformed_) return close();
    if (left.size() < size) break;
    Bytes frame = left.first(size);
    ControlKind kind{};
    read_struct(frame, kind);
    used += sizeof size + size;
    if (next_on_frame_) on_frame_ = std::exchange(next_on_frame_, {});
    on_frame_(kind, frame);
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(used));
}

void ControlChannel::shut() {
  if (std::exchange(closed_, true)) return;
  loop_.remove(fd_.get());
  ::shutdown(fd_.get(), SHUT_RDWR);
}

void ControlChannel::close() {
  if (closed_) return;
  closed_ = true;
  loop_.remove(fd_.get());
  on_close_();
}

void make_nonce(std::uint8_t (&nonce)[32]) {
  randombytes_buf(nonce, sizeof nonce);
}

void make_proof(const JobKey& key, std::string_view role, int node, const std::uint8_t (&head_nonce)[32],
                const std::uint8_t (&agent_nonce)[32], std::uint8_t (&proof)[32]) {
  static_assert(sizeof proof == crypto_auth_hmacsha256_BYTES);
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.data(), key.size());
  auto add = [&](const void* data, std::size_t n) {
    crypto_auth_hmacsha256_update(&state, static_cast<const unsigned char*>(data), n);
  };
  add(role.data(), role.size());
  add(&node, sizeof node);
  add(head_nonce, sizeof head_nonce);
  add(agent_nonce, sizeof agent_nonce);
  crypto_auth_hmacsha256_final(&state, proof);
}

bool same_proof(const std::uint8_t (&left)[32], const std::uint8_t (&right)[32]) {
  return sodium_memcmp(left, right, sizeof left) == 0;
}

}  // namespace hf::daemon
