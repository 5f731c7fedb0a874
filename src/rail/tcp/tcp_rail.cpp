#include "rail/tcp/tcp_rail.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.hpp"
#include "rail/tcp/tcp_rail_impl.hpp"

namespace hf::rail::tcp {
namespace {
constexpr std::size_t read_bytes = 64 << 10;   // asked of the kernel at a time, beyond a frame already begun
constexpr std::uint32_t look_every = 8;        // fruitless polls of the hot connection between looks at all others
constexpr int reads_per_turn = 16;
constexpr std::size_t header_bytes = sizeof(wire::FrameHeader);
}  // namespace

TcpRail::TcpRail(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TcpRail::~TcpRail() = default;

Result<std::unique_ptr<TcpRail>> TcpRail::open(const Options& options) {
  HF_CHECK(options.self.value >= 0 && options.self.value < options.rank_count);
  HF_CHECK(sodium_init() >= 0);
  auto impl = std::make_unique<Impl>(options);
  if (auto started = impl->start(); !started) return std::unexpected(started.error());
  return std::unique_ptr<TcpRail>(new TcpRail(std::move(impl)));
}

std::uint16_t TcpRail::port() const { return impl_->port(); }
int TcpRail::descriptor() const { return impl_->descriptor(); }
void TcpRail::connect(const Peer& peer, std::uint64_t position) { impl_->connect(peer, position); }
bool TcpRail::accept(Rank peer, std::uint64_t position) { return impl_->accept(peer, position); }
void TcpRail::refuse(Rank peer) { impl_->refuse(peer); }
void TcpRail::peer_incarnation(Rank peer, Incarnation newest) { impl_->learn(peer, newest, false); }
void TcpRail::flush() { impl_->flush(); }
bool TcpRail::poll(Event& event) { return impl_->poll(event); }
void TcpRail::close(Rank peer) { impl_->forget(peer); }

bool TcpRail::is_open(Rank peer) const {
  const Connection* c = impl_->peer(peer).live;
  return c && c->state == Connection::State::open;
}

bool TcpRail::send(Rank peer, const wire::FrameHeader& header, std::span<const Bytes> pieces) {
  return impl_->send(peer, header, pieces);
}

std::uint64_t TcpRail::unconfirmed_bytes(Rank peer) const {
  if (!is_open(peer)) return 0;
  const Stream& stream = impl_->peer(peer).live->stream;
  return stream.queued() + stream.unacknowledged();
}

void TcpRail::confirm(Rank peer) {
  if (is_open(peer)) impl_->peer(peer).live->stream.acknowledge_now();
}

TcpRail::Impl::~Impl() {
  if (listener_ >= 0) ::close(listener_);
  if (timer_ >= 0) ::close(timer_);
  if (epoll_ >= 0) ::close(epoll_);
}

Result<> TcpRail::Impl::start() {
  auto listener = listen_on(options_.address, port_);
  if (!listener) return std::unexpected(listener.error());
  listener_ = *listener;
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &timer_}};
  if (epoll_ < 0 || timer_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) != 0)
    return fail(Lost::rail, fmt::format("cannot set up TCP: {}", std::strerror(errno)));
  listen(true);
  return {};
}

TcpRail::Impl::PeerState& TcpRail::Impl::peer(Rank rank) {
  HF_CHECK(rank.value >= 0 && rank.value < options_.rank_count && rank != options_.self);
  return peers_[static_cast<std::size_t>(rank.value)];
}

bool TcpRail::Impl::poll(Event& event) {
  release_view();
  for (bool looked = false;;) {
    if (take_event(event) || take_frame(event)) return true;
    if (next_ready()) continue;
    if (looked) return false;
    looked = true;
    if (hot_ && ++looks_ % look_every != 0) {
      read(*hot_);
    } else {
      look();
    }
  }
}

void TcpRail::Impl::release_view() {
  if (viewed_) viewed_->stream.consume(viewed_bytes_);
  viewed_ = nullptr;
}

bool TcpRail::Impl::take_event(Event& event) {
  if (events_.empty()) return false;
  reason_ = std::move(events_.front().reason);
  event = events_.front().event;
  event.reason = reason_;
  events_.pop_front();
  return true;
}

bool TcpRail::Impl::frame_is_whole(const Connection& c) const {
  Bytes bytes = c.stream.unread();
  if (bytes.size() < header_bytes) return false;
  wire::FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  std::uint64_t payload = wire::payload_on_rail(header);
  // One that is too long is taken at once, as a violation.
  return payload > options_.payload_bytes_max || bytes.size() - header_bytes >= payload;
}

bool TcpRail::Impl::take_frame(Event& event) {
  if (!current_) return false;
  if (!frame_is_whole(*current_)) {
    current_ = nullptr;
    return false;
  }
  Connection& c = *current_;
  Bytes bytes = c.stream.unread();
  wire::FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  std::uint64_t payload = wire::payload_on_rail(header);
  if (!wire::plausible(header, options_.rank_count, UINT64_MAX) || header.source != c.peer.value ||
      payload > options_.payload_bytes_max) {
    violation(c, header);
    return take_event(event);
  }
  event.kind = Event::frame;
  event.peer = c.peer;
  event.incarnation = c.incarnation;
  event.header = header;
  event.payload = bytes.subspan(header_bytes, payload);
  event.reason = {};
  viewed_ = &c;
  viewed_bytes_ = header_bytes + payload;
  return true;
}

void TcpRail::Impl::violation(Connection& c, const wire::FrameHeader& h) {
  drop(c, Tell::yes, fmt::format("protocol error: frame of kind {}, flags {}, source {}, length {}",
                                 static_cast<int>(h.kind), h.flags, h.source, h.length));
}

bool TcpRail::Impl::next_ready() {
  if (ready_at_ == ready_count_) return false;
  epoll_event ready = ready_[static_cast<std::size_t>(ready_at_++)];
  if (ready.data.ptr == &listener_) {
    on_listener();
    return true;
  }
  if (ready.data.ptr == &timer_) {
    on_timer();
    return true;
  }
  Connection& c = *static_cast<Connection*>(ready.data.ptr);
  switch (c.state) {
    case Connection::State::greeting: on_handshake(c); break;
    case Connection::State::incoming:
      // The dialler says nothing before our answer, so this is its end.
      drop(c, Tell::yes, "closed before it was accepted");
      break;
    case Connection::State::open:
      if (ready.events & EPOLLOUT) write(c);
      if (c.state == Connection::State::open && (ready.events & ~EPOLLOUT)) read(c);
      break;
    case Connection::State::yielded:
    case Connection::State::gone: break;
  }
  return true;
}

void TcpRail::Impl::look() {
  graveyard_.clear();
  ready_at_ = 0;
  ready_count_ = std::max(0, ::epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()), 0));
}

void TcpRail::Impl::read(Connection& c) {
  for (int turn = 0; turn < reads_per_turn; ++turn) {
    switch (c.stream.fill(read_bytes)) {
      case Stream::Io::idle:
        if (c.stream.broken()) drop(c, Tell::yes, "connection lost");
        return;
      case Stream::Io::ended: return drop(c, Tell::yes, "connection closed by the peer");
      case Stream::Io::progress: break;
    }
    current_ = hot_ = &c;
    if (frame_is_whole(c)) return;
  }
}

void TcpRail::Impl::write(Connection& c) {
  c.stream.flush();
  if (c.stream.broken()) return read(c);  // what has arrived comes first
  arm(c, c.stream.queued() > 0);
}

void TcpRail::Impl::arm(Connection& c, bool output) {
  if (c.wants_output == output) return;
  c.wants_output = output;
  epoll_event event{.events = EPOLLIN | (output ? EPOLLOUT : 0u), .data = {.ptr = &c}};
  HF_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.stream.fd(), &event) == 0);
}

bool TcpRail::Impl::send(Rank to, const wire::FrameHeader& header, std::span<const Bytes> pieces) {
  Connection* c = peer(to).live;
  if (!c || c->state != Connection::State::open || c->stream.broken()) return false;
  constexpr std::size_t pieces_max = 255;
  HF_CHECK(pieces.size() <= pieces_max);
  std::array<Bytes, pieces_max + 1> all;
  all[0] = std::as_bytes(std::span(&header, 1));
  std::uint64_t payload = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    all[i + 1] = pieces[i];
    payload += pieces[i].size();
  }
  HF_CHECK(payload == wire::payload_on_rail(header) && payload <= options_.payload_bytes_max);
  auto full = [&] { return c->stream.queued() > 0 && c->stream.queued() + header_bytes + payload > options_.output_bytes; };
  if (full()) c->stream.flush();
  if (full()) return false;
  bool taken = c->stream.write(std::span(all).first(pieces.size() + 1));
  // A broken one says so to poll() by its descriptor: what has arrived is still to be read.
  if (taken) arm(*c, c->stream.queued() > 0);
  return taken;
}

void TcpRail::Impl::flush() {
  for (const auto& c : connections_)
    if (c->wants_output && c->state == Connection::State::open && c->stream.flush() == Stream::Io::progress)
      arm(*c, c->stream.queued() > 0);
}

void TcpRail::Impl::announce(Event::Kind kind, const Connection& c, std::string reason, bool established) {
  Pending pending;
  pending.event.kind = kind;
  pending.event.peer = c.peer;
  pending.event.incarnation = c.incarnation;
  pending.event.established = established;
  pending.event.opening = c.theirs;
  pending.reason = std::move(reason);
  events_.push_back(std::move(pending));
  wake();
}

}  // namespace hf::rail::tcp
