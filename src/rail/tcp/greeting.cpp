#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.hpp"
#include "os/error_text.hpp"
#include "rail/tcp/tcp_rail_impl.hpp"

namespace hf::rail::tcp {
namespace {
constexpr std::size_t strangers_max = 16;
constexpr int accepts_per_turn = 32;
// How long a dial that yielded waits for the peer's. Not long: the peer may have lost its own dial by now.
constexpr std::int64_t yield_timeout_ns = 200'000'000;
constexpr std::size_t header_bytes = sizeof(wire::FrameHeader);
}  // namespace

// Takes the descriptor, also when there is no connection, and errno says why.
Connection* TcpRail::Impl::add(int fd) {
  auto c = std::make_unique<Connection>(fd);
  c->deadline_ns = monotonic_ns() + options_.handshake_timeout_ms * 1'000'000;
  // A dial is also told when it can be written: then it is connected.
  c->wants_output = true;
  epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.ptr = c.get()}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    c.reset();
    errno = error;
    return nullptr;
  }
  connections_.push_back(std::move(c));
  arm_timer();
  return connections_.back().get();
}

void TcpRail::Impl::drop(Connection& c, Tell tell, std::string reason) {
  HF_CHECK(c.state != Connection::State::gone);
  if (c.peer.value >= 0) {
    PeerState& p = peer(c.peer);
    bool known = p.dial == &c || p.live == &c;
    if (p.dial == &c) p.dial = nullptr;
    if (p.live == &c) p.live = nullptr;
    // Nobody has heard of it yet: an answer to that event would go to the connection that comes next.
    if (c.state == Connection::State::incoming && withdraw_incoming(c.peer)) known = false;
    if (known && tell == Tell::yes)
      announce(Event::closed, c, std::move(reason), c.state == Connection::State::open);
  } else {
    --half_open_;
    listen(true);
  }
  if (c.state == Connection::State::open) --open_;
  c.state = Connection::State::gone;
  if (c.stream.fd() >= 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, c.stream.fd(), nullptr);
  c.stream.close();
  if (hot_ == &c) hot_ = nullptr;
  if (current_ == &c) current_ = nullptr;
  if (viewed_ == &c) viewed_ = nullptr;
  auto at = std::find_if(connections_.begin(), connections_.end(), [&](const auto& other) { return other.get() == &c; });
  HF_CHECK(at != connections_.end());
  graveyard_.push_back(std::move(*at));
  *at = std::move(connections_.back());
  connections_.pop_back();
}

bool TcpRail::Impl::withdraw_incoming(Rank rank) {
  return std::erase_if(events_, [&](const Pending& e) {
           return e.event.peer == rank && e.event.kind == Event::incoming;
         }) > 0;
}

void TcpRail::Impl::connect(const Peer& to, std::uint64_t position) {
  if (to.incarnation > peer(to.rank).newest) learn(to.rank, to.incarnation, false);
  PeerState& p = peer(to.rank);
  Connection refused(-1);
  refused.peer = to.rank;
  refused.incarnation = to.incarnation;
  if (to.incarnation < p.newest) return announce(Event::closed, refused, "a newer incarnation is known");
  if (p.dial || p.live || p.held) return;
  Endpoint endpoint{to.address, to.port};
  int fd = dial(endpoint);
  Connection* c = fd < 0 ? nullptr : add(fd);
  if (!c) {
    std::string why = os::error_text(errno);
    return announce(Event::closed, refused, fmt::format("cannot connect to {}: {}", describe(endpoint), why));
  }
  c->dialled = true;
  c->peer = to.rank;
  c->incarnation = to.incarnation;
  c->endpoint = endpoint;
  Introduction introduction;
  introduction.opening = {.rank = options_.self.value,
                          .incarnation = options_.incarnation.value,
                          .peer_incarnation = to.incarnation.value,
                          .position = position};
  introduction.target = to.rank.value;
  introduction.dial = ++dials_;
  c->handshake = Handshake::dial(options_.job_key, Purpose::rail, fresh_nonce(), introduction);
  p.dial = c;
  on_handshake(*c);
}

void TcpRail::Impl::on_listener() {
  for (int i = 0; i < accepts_per_turn; ++i) {
    if (half_open_ >= options_.half_open_max) return listen(false);
    Endpoint from;
    int fd = accept_from(listener_, from);
    if (fd < 0) return;  // none, or gone again; out of descriptors: those that wait are looked at again
    Connection* c = add(fd);
    if (!c) return;
    c->endpoint = from;
    c->connected = true;
    c->handshake = Handshake::accept(options_.job_key, Purpose::rail, fresh_nonce());
    ++half_open_;
    arm(*c, false);
    on_handshake(*c);
  }
}

void TcpRail::Impl::on_handshake(Connection& c) {
  if (!c.connected) {
    int error = connect_error(c.stream.fd(), c.endpoint);
    if (error == EINPROGRESS) return;
    if (error != 0)
      return drop(c, Tell::yes, fmt::format("cannot connect to {}: {}", describe(c.endpoint), os::error_text(error)));
    c.connected = true;
    arm(c, false);
  }
  Handshake& handshake = *c.handshake;
  Stream::Io io = c.stream.talk(handshake);
  switch (handshake.state()) {
    case Handshake::State::proven: return on_proven(c);
    case Handshake::State::done: return on_answer(c);
    case Handshake::State::stranger:
      report_stranger(c);
      return drop(c, Tell::yes, "what answers does not belong to this job");
    case Handshake::State::talking:
      if (io == Stream::Io::ended) return drop(c, Tell::yes, "closed during the handshake");
      arm(c, !handshake.output().empty());
  }
}

Verdict TcpRail::Impl::judge(const Introduction& introduction) {
  const wire::Opening& o = introduction.opening;
  if (introduction.target != options_.self.value || o.rank < 0 || o.rank >= options_.rank_count ||
      o.rank == options_.self.value)
    return Verdict::refused;
  if (o.peer_incarnation != options_.incarnation.value) return Verdict::stale;
  Incarnation theirs{o.incarnation};
  if (theirs > peer(Rank{o.rank}).newest) learn(Rank{o.rank}, theirs, true);
  PeerState& p = peer(Rank{o.rank});
  if (theirs < p.newest || introduction.dial <= p.last_dial) return Verdict::stale;
  p.last_dial = introduction.dial;
  return p.dial && options_.self.value < o.rank ? Verdict::yield : Verdict::accepted;
}

void TcpRail::Impl::on_proven(Connection& c) {
  // Between its proof and our answer the dialler says nothing: what ends there has been given up, while we computed.
  char next;
  if (::recv(c.stream.fd(), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return drop(c, Tell::no, {});
  const Introduction& introduction = c.handshake->introduction();
  const std::int32_t from = introduction.opening.rank;
  if (from >= 0 && from < options_.rank_count && from != options_.self.value && peer(Rank{from}).held) return drop(c, Tell::no, {});
  Verdict verdict = judge(introduction);
  if (verdict != Verdict::accepted) {
    wire::Opening own{.rank = options_.self.value, .incarnation = options_.incarnation.value};
    c.handshake->answer(verdict, 0, own);
    c.stream.talk(*c.handshake);  // 72 bytes into an empty socket; if they do not go, the dialler sees the end instead
    return drop(c, Tell::no, {});
  }
  c.peer = Rank{introduction.opening.rank};
  c.incarnation = Incarnation{introduction.opening.incarnation};
  c.theirs = introduction.opening;
  c.state = Connection::State::incoming;
  --half_open_;
  listen(true);
  PeerState& p = peer(c.peer);
  if (p.dial) drop(*p.dial, Tell::no, {});
  if (p.live) drop(*p.live, Tell::yes, "the peer has opened a new connection");
  p.live = &c;
  announce(Event::incoming, c);
}

void TcpRail::Impl::on_answer(Connection& c) {
  switch (c.handshake->verdict()) {
    case Verdict::yield:
      // The peer's own dial is on its way to us: nothing is to be done but to wait for it, until the deadline.
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, c.stream.fd(), nullptr);
      c.stream.close();
      c.state = Connection::State::yielded;
      c.deadline_ns = monotonic_ns() + yield_timeout_ns;
      return arm_timer();
    case Verdict::stale: return drop(c, Tell::yes, "refused: the peer knows a newer incarnation or connection");
    case Verdict::refused: return drop(c, Tell::yes, "refused by the peer");
    case Verdict::accepted: break;
  }
  c.theirs = c.handshake->opening();
  if (c.theirs.rank != c.peer.value || c.theirs.incarnation != c.incarnation.value ||
      c.theirs.peer_incarnation != options_.incarnation.value)
    return drop(c, Tell::yes, "the peer is of another incarnation");
  PeerState& p = peer(c.peer);
  HF_CHECK(p.dial == &c && !p.live);
  p.dial = nullptr;
  p.live = &c;
  p.last_dial = std::max(p.last_dial, c.handshake->last_dial());
  if (!make_open(c)) return drop(c, Tell::yes, "no memory for buffers");
  arm(c, false);
  announce(Event::opened, c);
}

bool TcpRail::Impl::make_open(Connection& c) {
  c.handshake.reset();
  std::size_t frame = header_bytes + options_.payload_bytes_max;
  if (!c.stream.prepare(frame + (64 << 10), frame + options_.output_bytes)) return false;
  c.state = Connection::State::open;
  ++open_;
  return true;
}

bool TcpRail::Impl::accept(Rank rank, std::uint64_t position) {
  Connection* c = peer(rank).live;
  if (!c || c->state != Connection::State::incoming) return false;
  if (held(*c)) {
    drop(*c, Tell::yes, "cut off");
    return false;
  }
  wire::Opening own{.rank = options_.self.value,
                    .incarnation = options_.incarnation.value,
                    .peer_incarnation = c->incarnation.value,
                    .position = position};
  c->handshake->answer(Verdict::accepted, dials_, own);
  Handshake handshake = *c->handshake;
  if (!make_open(*c)) {
    drop(*c, Tell::yes, "no memory for buffers");
    return false;
  }
  Bytes answer = handshake.output();
  if (!c->stream.write({&answer, 1})) {
    drop(*c, Tell::yes, "connection lost");
    return false;
  }
  arm(*c, c->stream.queued() > 0);
  return true;
}

void TcpRail::Impl::refuse(Rank rank) {
  Connection* c = peer(rank).live;
  if (!c || c->state != Connection::State::incoming) return;
  c->handshake->answer(Verdict::refused, 0, {.rank = options_.self.value, .incarnation = options_.incarnation.value});
  if (!held(*c)) c->stream.talk(*c->handshake);
  drop(*c, Tell::no, {});
}

void TcpRail::Impl::learn(Rank rank, Incarnation newest, bool tell) {
  PeerState& p = peer(rank);
  if (newest <= p.newest) return;
  p.newest = newest;
  p.last_dial = 0;
  Tell how = tell ? Tell::yes : Tell::no;
  if (p.dial) drop(*p.dial, how, "a newer incarnation has come");
  if (p.live) drop(*p.live, how, "a newer incarnation has come");
  if (tell) return;
  std::erase_if(events_, [&](const Pending& e) { return e.event.peer == rank && e.event.incarnation < newest; });
}

void TcpRail::Impl::forget(Rank rank) {
  PeerState& p = peer(rank);
  if (p.dial) drop(*p.dial, Tell::no, {});
  if (p.live) drop(*p.live, Tell::no, {});
  std::erase_if(events_, [&](const Pending& e) { return e.event.peer == rank && e.event.kind != Event::stranger; });
}

void TcpRail::Impl::report_stranger(const Connection& c) {
  if (strangers_.size() >= strangers_max || !strangers_.insert(c.endpoint.address).second) return;
  Connection nobody(-1);
  announce(Event::stranger, nobody,
           c.dialled ? fmt::format("what listens at {} is not rank {} of this job: not talked to", describe(c.endpoint),
                                   c.peer.value)
                     : fmt::format("refused a connection from {}: it does not know this job's key", describe(c.endpoint)));
}

void TcpRail::Impl::listen(bool on) {
  if (listening_ == on) return;
  listening_ = on;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = &listener_}};
  HF_CHECK(::epoll_ctl(epoll_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_, &event) == 0);
}

void TcpRail::Impl::wake() {
  itimerspec now{};
  now.it_value.tv_nsec = 1;
  ::timerfd_settime(timer_, 0, &now, nullptr);
}

void TcpRail::Impl::arm_timer() {
  if (!events_.empty()) return wake();
  std::int64_t first = INT64_MAX;
  for (const auto& c : connections_)
    if ((c->state == Connection::State::greeting || c->state == Connection::State::yielded) && !held(*c))
      first = std::min(first, c->deadline_ns);
  if (first == INT64_MAX) return;
  itimerspec when{};
  when.it_value = {.tv_sec = first / 1'000'000'000, .tv_nsec = first % 1'000'000'000};
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void TcpRail::Impl::on_timer() {
  std::uint64_t expirations;
  if (::read(timer_, &expirations, sizeof(expirations)) < 0) return;
  std::int64_t now = monotonic_ns();
  std::vector<Connection*> late;
  for (const auto& c : connections_)
    if (c->deadline_ns <= now && (c->state == Connection::State::greeting || c->state == Connection::State::yielded) && !held(*c))
      late.push_back(c.get());
  for (Connection* c : late) {
    // What came while this process was elsewhere is looked at before it is called late.
    if (c->state == Connection::State::greeting) on_handshake(*c);
    if (c->state != Connection::State::greeting && c->state != Connection::State::yielded) continue;
    if (!c->dialled && !c->handshake->heard_hello()) report_stranger(*c);
    drop(*c, Tell::yes, "no answer in time");
  }
  arm_timer();
}

}  // namespace hf::rail::tcp
