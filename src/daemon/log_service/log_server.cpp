#include "daemon/log_service/log_server.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "daemon/log_service/stream_source.hpp"
#include "rail/tcp/stream.hpp"
#include "wire/log_service.hpp"

namespace hf::daemon {
namespace {

using rail::tcp::Endpoint;
using rail::tcp::Handshake;
using rail::tcp::Stream;

constexpr std::size_t input_bytes = 64 << 10;
constexpr std::size_t output_bytes = 2 * (wire::log_answer_bytes_max + sizeof(wire::LogMessage));
constexpr std::size_t strangers_max = 16;
constexpr std::size_t held_max = 1024;  // waiting questions a connection; further ones are answered at once
constexpr std::int64_t millisecond_ns = 1'000'000;
// A held question is looked at again after an eighth of the time it has waited, within these bounds: ranks do not
// say when they publish.
constexpr std::int64_t held_look_ns_min = millisecond_ns, held_look_ns_max = 20 * millisecond_ns;

struct Held {
  std::uint64_t id = 0;
  wire::ReadRequest request;
  std::int64_t since_ns = 0, until_ns = 0;
};

struct Connection {
  explicit Connection(int fd) : stream(fd) {}
  Stream stream;
  Endpoint from;
  std::optional<Handshake> handshake;  // until it is over
  std::int64_t deadline_ns = 0;
  bool wants_output = false;
  bool gone = false;
  std::vector<Held> held;
};

}  // namespace

class LogServer::Impl {
 public:
  Impl(int listener, const LogServerOptions& options, SegmentProvider& provider)
      : listener_(listener), options_(options), source_(provider, options.rank_count) {
    HF_CHECK(sodium_init() >= 0);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    HF_CHECK(epoll_ >= 0 && timer_ >= 0);
    watch(EPOLL_CTL_ADD, timer_, EPOLLIN, &timer_);
    listen(true);
  }
  ~Impl() {
    ::close(timer_);
    ::close(epoll_);
  }

  int descriptor() const { return epoll_; }
  void poll();
  bool poll_report(std::string& line);

 private:
  void watch(int operation, int fd, std::uint32_t events, void* what) {
    epoll_event event{.events = events, .data = {.ptr = what}};
    HF_CHECK(::epoll_ctl(epoll_, operation, fd, &event) == 0);
  }
  void listen(bool on);
  void on_listener();
  void on_timer();
  void on_ready(Connection& c, std::uint32_t events);
  void greet(Connection& c);
  void serve(Connection& c);
  bool serve_one(Connection& c);
  void look_at_held(Connection& c, std::int64_t now);
  bool answer(Connection& c, wire::LogMessageKind kind, std::uint64_t id);
  static bool has_room(const Connection& c) {
    return c.stream.fits(wire::log_answer_bytes_max + sizeof(wire::LogMessage));
  }
  void arm(Connection& c);
  void arm_timer();
  void report_stranger(const Connection& c);
  void drop(Connection& c);

  int listener_, epoll_ = -1, timer_ = -1;
  LogServerOptions options_;
  StreamSource source_;
  bool listening_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
  AnswerBody body_;
  std::vector<Bytes> pieces_;
  std::set<std::uint32_t> strangers_;
  std::deque<std::string> reports_;
};

LogServer::LogServer(int listener, const LogServerOptions& options, SegmentProvider& provider)
    : impl_(std::make_unique<Impl>(listener, options, provider)) {}
LogServer::~LogServer() = default;
int LogServer::descriptor() const { return impl_->descriptor(); }
void LogServer::poll() { impl_->poll(); }
bool LogServer::poll_report(std::string& line) { return impl_->poll_report(line); }

bool LogServer::Impl::poll_report(std::string& line) {
  if (reports_.empty()) return false;
  line = std::move(reports_.front());
  reports_.pop_front();
  return true;
}

void LogServer::Impl::poll() {
  std::array<epoll_event, 64> ready;
  int count = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.ptr == &listener_) {
      on_listener();
    } else if (event.data.ptr == &timer_) {
      on_timer();
    } else {
      Connection& c = *static_cast<Connection*>(event.data.ptr);
      if (!c.gone) on_ready(c, event.events);
    }
  }
  std::erase_if(connections_, [](const auto& c) { return c->gone; });
  listen(static_cast<int>(connections_.size()) < options_.connections_max);
  arm_timer();
}

void LogServer::Impl::listen(bool on) {
  if (listening_ == on) return;
  listening_ = on;
  watch(on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_, EPOLLIN, &listener_);
}

void LogServer::Impl::on_listener() {
  while (static_cast<int>(connections_.size()) < options_.connections_max) {
    Endpoint from;
    int fd = rail::tcp::accept_from(listener_, from);
    if (fd < 0) return;
    connections_.push_back(std::make_unique<Connection>(fd));
    Connection& c = *connections_.back();
    c.from = from;
    c.deadline_ns = rail::tcp::monotonic_ns() + options_.handshake_timeout_ms * millisecond_ns;
    c.handshake = Handshake::accept(options_.job_key, rail::tcp::Purpose::log, rail::tcp::fresh_nonce());
    watch(EPOLL_CTL_ADD, fd, EPOLLIN, &c);
    greet(c);
  }
}

void LogServer::Impl::on_ready(Connection& c, std::uint32_t events) {
  if (c.handshake) return greet(c);
  if (events & EPOLLOUT) c.stream.flush();
  if (events & ~EPOLLOUT) {
    // A question is small and the buffer large: when it is full, questions wait for room for their answers.
    if (c.stream.fill(input_bytes) == Stream::Io::ended) return drop(c);
  }
  serve(c);
}

void LogServer::Impl::greet(Connection& c) {
  Handshake& handshake = *c.handshake;
  Stream::Io io = c.stream.talk(handshake);
  if (handshake.state() == Handshake::State::proven) {
    const auto& introduction = handshake.introduction();
    bool meant = introduction.target == options_.node.value && introduction.opening.rank >= 0 &&
                 introduction.opening.rank < options_.rank_count;
    handshake.answer(meant ? rail::tcp::Verdict::accepted : rail::tcp::Verdict::refused, 0,
                     {.rank = options_.node.value});
    io = c.stream.talk(handshake);
    if (!meant) return drop(c);
  }
  if (handshake.state() == Handshake::State::stranger) {
    report_stranger(c);
    return drop(c);
  }
  if (io == Stream::Io::ended) return drop(c);
  bool over = handshake.state() == Handshake::State::done && handshake.output().empty();
  if (over) {
    c.handshake.reset();
    if (!c.stream.prepare(input_bytes, output_bytes)) return drop(c);
  }
  arm(c);
}

void LogServer::Impl::serve(Connection& c) {
  look_at_held(c, rail::tcp::monotonic_ns());
  while (!c.gone && has_room(c) && serve_one(c)) {
  }
  if (!c.gone) arm(c);
}

// Takes the next question. False: there is none yet, or it was no question and the connection is gone.
bool LogServer::Impl::serve_one(Connection& c) {
  ByteReader in(c.stream.unread());
  auto head = in.get<wire::LogMessage>();
  if (!in.ok()) return false;
  bool is_read = head.kind == wire::LogMessageKind::read, is_fetch = head.kind == wire::LogMessageKind::fetch;
  if (!(is_read && head.body_bytes == sizeof(wire::ReadRequest)) &&
      !(is_fetch && head.body_bytes == sizeof(wire::FetchRequest))) {
    drop(c);
    return false;
  }
  ByteReader body(in.get_bytes(head.body_bytes));
  if (!in.ok()) return false;
  if (is_read) {
    auto request = body.get<wire::ReadRequest>();
    c.stream.consume(sizeof(head) + head.body_bytes);
    std::int64_t wait_ms = std::min(request.wait_ms, wire::log_wait_ms_max);
    if (!source_.read(request, body_) && wait_ms > 0 && c.held.size() < held_max) {
      std::int64_t now = rail::tcp::monotonic_ns();
      c.held.push_back({head.id, request, now, now + wait_ms * millisecond_ns});
      return true;
    }
    return answer(c, wire::LogMessageKind::records, head.id);
  }
  auto request = body.get<wire::FetchRequest>();
  c.stream.consume(sizeof(head) + head.body_bytes);
  source_.fetch(request, body_);
  return answer(c, wire::LogMessageKind::bytes, head.id);
}

void LogServer::Impl::look_at_held(Connection& c, std::int64_t now) {
  for (std::size_t i = 0; i < c.held.size() && !c.gone && has_room(c);) {
    if (!source_.read(c.held[i].request, body_) && now < c.held[i].until_ns) {
      ++i;
      continue;
    }
    std::uint64_t id = c.held[i].id;
    c.held.erase(c.held.begin() + static_cast<std::ptrdiff_t>(i));
    answer(c, wire::LogMessageKind::records, id);
  }
}

bool LogServer::Impl::answer(Connection& c, wire::LogMessageKind kind, std::uint64_t id) {
  wire::LogMessage head{.kind = kind, .body_bytes = static_cast<std::uint32_t>(body_.bytes), .id = id};
  pieces_.clear();
  pieces_.push_back(std::as_bytes(std::span(&head, 1)));
  pieces_.insert(pieces_.end(), body_.pieces.begin(), body_.pieces.end());
  if (c.stream.write(pieces_)) return true;
  drop(c);  // has_room was asked before: only a lost connection refuses
  return false;
}

// Questions are not read while answers have no room: then only writing is waited for.
void LogServer::Impl::arm(Connection& c) {
  bool over = !c.handshake;
  std::uint32_t events = over && !has_room(c) ? 0u : EPOLLIN;
  if (over ? c.stream.queued() > 0 : !c.handshake->output().empty()) events |= EPOLLOUT;
  watch(EPOLL_CTL_MOD, c.stream.fd(), events, &c);
}

void LogServer::Impl::arm_timer() {
  std::int64_t now = rail::tcp::monotonic_ns(), first = INT64_MAX;
  for (const auto& c : connections_) {
    if (c->handshake) first = std::min(first, c->deadline_ns);
    for (const Held& held : c->held) {
      std::int64_t look = std::clamp((now - held.since_ns) / 8, held_look_ns_min, held_look_ns_max);
      first = std::min({first, now + look, std::max(held.until_ns, now + 1)});
    }
  }
  itimerspec when{};
  if (first != INT64_MAX) when.it_value = {.tv_sec = first / 1'000'000'000, .tv_nsec = first % 1'000'000'000};
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void LogServer::Impl::on_timer() {
  std::uint64_t expirations;
  if (::read(timer_, &expirations, sizeof(expirations)) < 0) return;
  std::int64_t now = rail::tcp::monotonic_ns();
  for (const auto& c : connections_) {
    if (c->gone) continue;
    if (c->handshake && c->deadline_ns <= now) greet(*c);  // what came meanwhile counts
    if (!c->gone && c->handshake && c->deadline_ns <= now) {
      if (!c->handshake->heard_hello()) report_stranger(*c);
      drop(*c);
    }
    if (!c->gone && !c->held.empty()) serve(*c);
  }
}

void LogServer::Impl::report_stranger(const Connection& c) {
  if (strangers_.size() >= strangers_max || !strangers_.insert(c.from.address).second) return;
  reports_.push_back(fmt::format("agent of node {}: refused a connection from {}: it does not know this job's key",
                                 options_.node.value, rail::tcp::describe(c.from)));
}

void LogServer::Impl::drop(Connection& c) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, c.stream.fd(), nullptr);
  c.stream.close();
  c.gone = true;
}

}  // namespace hf::daemon
