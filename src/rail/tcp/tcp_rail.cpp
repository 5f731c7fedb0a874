#include "rail/tcp/tcp_rail.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "os/clock.hpp"
#include "os/error_text.hpp"
#include "rail/tcp/tcp_rail_impl.hpp"

namespace hf::rail::tcp {
namespace {
constexpr std::size_t read_bytes = 64 << 10;   // asked of the kernel at a time
constexpr std::size_t large_bytes = 12 << 10;  // a payload from which on `head` is given
constexpr std::size_t read_bytes_large = 4096;  // asked after a large payload: it is copied when another one follows
constexpr std::uint32_t look_every = 64;       // polls of the only open connection between looks at everything else
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
void TcpRail::hold(Rank peer, bool on) { impl_->hold(peer, on); }
void TcpRail::peer_incarnation(Rank peer, Incarnation newest) { impl_->learn(peer, newest, false); }
void TcpRail::flush() { impl_->flush(); }
bool TcpRail::poll(Event& event) { return impl_->poll(event); }
void TcpRail::close(Rank peer) { impl_->forget(peer); }

bool TcpRail::is_open(Rank peer) const {
  const Connection* c = impl_->peer(peer).live;
  return c && c->state == Connection::State::open;
}

bool TcpRail::send(Rank peer, const wire::FrameHeader& header, std::span<const Bytes> pieces,
                   std::span<const Bytes> lasting, Bytes before) {
  return impl_->send(peer, header, pieces, lasting, before);
}
bool TcpRail::borrows(Rank peer) const { return is_open(peer) && impl_->peer(peer).live->stream.borrows(); }
void TcpRail::place(Rank peer, MutableBytes target) { impl_->place(peer, target); }
void TcpRail::unplace(Rank peer) { impl_->unplace(peer); }
std::uint64_t TcpRail::bytes_arrived() const { return impl_->bytes_arrived(); }

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
  if (!nowhere_.map(read_bytes)) return fail(Lost::rail, "no memory for buffers");
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &timer_}};
  if (epoll_ < 0 || timer_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) != 0)
    return fail(Lost::rail, fmt::format("cannot set up TCP: {}", os::error_text(errno)));
  listen(true);
  return {};
}

TcpRail::Impl::PeerState& TcpRail::Impl::peer(Rank rank) {
  HF_CHECK(rank.value >= 0 && rank.value < options_.rank_count && rank != options_.self);
  return peers_[static_cast<std::size_t>(rank.value)];
}

bool TcpRail::Impl::poll(Event& event) {
  release_view();
  for (;;) {
    if (take_event(event) || take_frame(event)) return true;
    if (next_ready()) continue;
    // Once a turn: what comes after that waits for the next turn, so that the caller gets to act on what it was given.
    if (std::exchange(looked_, !looked_)) return false;
    if (hot_ && open_ == 1 && !hot_->wants_output && ++looks_ % look_every != 0) {
      read_hot(*hot_);
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

// A large payload that is not all there yet, and of which the caller has not been told.
bool TcpRail::Impl::is_head(const Connection& c, std::uint64_t payload, std::size_t have) const {
  return payload >= large_bytes && have < payload && !c.head_told;
}

bool TcpRail::Impl::has_news(const Connection& c) const {
  if (c.placing) return c.target.empty();
  Bytes bytes = c.stream.unread();
  if (bytes.size() < header_bytes) return false;
  wire::FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  std::uint64_t payload = wire::payload_on_rail(header);
  std::size_t have = bytes.size() - header_bytes;
  // One that is too long is taken at once, as a violation.
  return payload > options_.payload_bytes_max || have >= payload || is_head(c, payload, have);
}

bool TcpRail::Impl::take_placed(Connection& c, Event& event) {
  c.placing = c.head_told = false;
  event.kind = Event::frame;
  event.peer = c.peer;
  event.incarnation = c.incarnation;
  event.header = c.header;
  event.payload = {};
  event.placed = true;
  event.reason = {};
  return true;
}

bool TcpRail::Impl::take_frame(Event& event) {
  if (!current_) return false;
  if (!has_news(*current_)) {
    current_ = nullptr;
    return false;
  }
  Connection& c = *current_;
  if (c.placing) return take_placed(c, event);
  Bytes bytes = c.stream.unread();
  wire::FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  std::uint64_t payload = wire::payload_on_rail(header);
  if (!wire::plausible(header, options_.rank_count, UINT64_MAX, wire::flags_on_network) || header.source != c.peer.value ||
      payload > options_.payload_bytes_max) {
    violation(c, header);
    return take_event(event);
  }
  c.large = payload >= large_bytes;
  event.peer = c.peer;
  event.incarnation = c.incarnation;
  event.header = header;
  event.placed = false;
  event.reason = {};
  c.head_told = is_head(c, payload, bytes.size() - header_bytes);
  event.kind = c.head_told ? Event::head : Event::frame;
  event.payload = c.head_told ? Bytes() : bytes.subspan(header_bytes, payload);
  if (c.head_told) return true;
  viewed_ = &c;
  viewed_bytes_ = header_bytes + payload;
  return true;
}

void TcpRail::Impl::place(Rank from, MutableBytes target) {
  Connection* c = peer(from).live;
  if (!c || c->state != Connection::State::open || !c->head_told || c->placing) return;
  Bytes bytes = c->stream.unread();
  std::memcpy(&c->header, bytes.data(), header_bytes);
  bytes = bytes.subspan(header_bytes);
  HF_CHECK(target.size() == wire::payload_on_rail(c->header) && bytes.size() < target.size());
  std::memcpy(target.data(), bytes.data(), bytes.size());
  c->target = target.subspan(bytes.size());
  c->stream.consume(header_bytes + bytes.size());
  c->placing = true;
  c->unplaced = false;
}

void TcpRail::Impl::unplace(Rank from) {
  Connection* c = peer(from).live;
  if (c && c->state == Connection::State::open && c->placing) c->unplaced = true;
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
  if (held(c)) return true;
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

void TcpRail::Impl::read_hot(Connection& c) {
  const bool one_way = c.inflow.one_way();
  const std::int64_t now = one_way ? os::now().value : 0;
  if (one_way && !c.inflow.may_read(now)) return;
  const std::uint64_t before = bytes_arrived_;
  read(c);
  if (one_way) c.inflow.on_read(bytes_arrived_ != before, now);
  else c.inflow.on_read(bytes_arrived_ != before);
}

void TcpRail::Impl::read(Connection& c) {
  for (int turn = 0; turn < reads_per_turn; ++turn) {
    switch (receive(c)) {
      case Stream::Io::idle:
        if (c.stream.broken()) drop(c, Tell::yes, "connection lost");
        return;
      case Stream::Io::ended: return drop(c, Tell::yes, "connection closed by the peer");
      case Stream::Io::progress: break;
    }
    current_ = hot_ = &c;
    if (has_news(c)) return;
  }
}

// Of the frame at the head of the input, whose header is there.
std::size_t TcpRail::Impl::missing(const Connection& c) const {
  Bytes bytes = c.stream.unread();
  wire::FrameHeader header;
  std::memcpy(&header, bytes.data(), header_bytes);
  return header_bytes + wire::payload_on_rail(header) - bytes.size();
}

Stream::Io TcpRail::Impl::receive(Connection& c) {
  MutableBytes first;
  if (c.placing) first = c.unplaced ? nowhere_.room(std::min(c.target.size(), read_bytes)) : c.target;
  std::size_t behind = c.large ? read_bytes_large : read_bytes;
  std::size_t before = c.stream.unread().size(), placed = 0;
  if (c.placing && first.size() < c.target.size()) behind = 0;  // more of the same payload would follow
  if (c.head_told && !c.placing) behind += missing(c);
  Stream::Io io = c.stream.fill(first, behind, placed);
  if (c.placing) c.target = c.target.subspan(placed);
  bytes_arrived_ += placed + c.stream.unread().size() - before;
  return io;
}

void TcpRail::Impl::write(Connection& c) {
  c.stream.flush();
  if (c.stream.broken()) return read(c);  // what has arrived comes first
  arm(c, c.stream.queued() > 0);
}

void TcpRail::Impl::arm(Connection& c, bool output) {
  if (c.wants_output == output) return;
  c.wants_output = output;
  if (!held(c)) watch(c, EPOLL_CTL_MOD);
}

void TcpRail::Impl::watch(Connection& c, int operation) {
  epoll_event event{.events = EPOLLIN | (c.wants_output ? EPOLLOUT : 0u), .data = {.ptr = &c}};
  HF_CHECK(::epoll_ctl(epoll_, operation, c.stream.fd(), &event) == 0);
}

void TcpRail::Impl::hold(Rank rank, bool on) {
  PeerState& p = peer(rank);
  if (std::exchange(p.held, on) == on) return;
  for (Connection* c : {p.dial, p.live}) {
    if (!c || c->state == Connection::State::yielded) continue;
    watch(*c, on ? EPOLL_CTL_DEL : EPOLL_CTL_ADD);
    if (hot_ == c) hot_ = nullptr;
  }
  arm_timer();
}

bool TcpRail::Impl::send(Rank to, const wire::FrameHeader& header, std::span<const Bytes> pieces,
                         std::span<const Bytes> lasting, Bytes before) {
  Connection* c = peer(to).live;
  if (!c || c->state != Connection::State::open || c->stream.broken() || peer(to).held) return false;
  // Whoever only sends, and does not wait, moves what is queued as well.
  if (c->stream.borrows()) c->stream.flush();
  if (c->stream.borrows()) return false;
  Bytes head = std::as_bytes(std::span(&header, 1));
  if (!before.empty()) {
    heads_.assign(before.begin(), before.end());
    heads_.insert(heads_.end(), head.begin(), head.end());
    head = heads_;
  }
  all_pieces_.assign(1, head);
  all_pieces_.insert(all_pieces_.end(), pieces.begin(), pieces.end());
  std::uint64_t payload = 0;
  for (Bytes piece : pieces) payload += piece.size();
  HF_CHECK(payload == wire::payload_on_rail(header) && payload <= options_.payload_bytes_max);
  auto full = [&] { return c->stream.queued() > 0 && c->stream.queued() + head.size() + payload > options_.output_bytes; };
  if (full()) c->stream.flush();
  if (full()) return false;
  bool taken = c->stream.write(all_pieces_, lasting);
  c->inflow.on_sent();
  // A broken one says so to poll() by its descriptor: what has arrived is still to be read.
  if (taken) arm(*c, c->stream.queued() > 0);
  return taken;
}

void TcpRail::Impl::flush() {
  for (const auto& c : connections_)
    if (c->wants_output && c->state == Connection::State::open && !held(*c) && c->stream.flush() == Stream::Io::progress)
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
