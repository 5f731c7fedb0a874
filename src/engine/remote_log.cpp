#include "engine/remote_log.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "base/check.hpp"
#include "rail/tcp/stream.hpp"

namespace hf::engine {
namespace {

using rail::tcp::Endpoint;
using rail::tcp::Handshake;
using rail::tcp::Stream;

constexpr std::size_t input_bytes = 2 * (wire::log_answer_bytes_max + sizeof(wire::LogMessage));
constexpr std::size_t output_bytes = 64 << 10;
constexpr std::int64_t retry_ns_min = 1'000'000, retry_ns_max = 100'000'000;
constexpr std::int64_t handshake_timeout_ns = 10'000'000'000;

struct Question {
  bool is_fetch = false;
  bool asked = false;  // on the present connection
  wire::ReadRequest read;
  wire::FetchRequest fetch;    // as first asked, without length
  std::uint64_t length = 0;    // fetch: wanted in all
  std::uint64_t received = 0;  // fetch: so far
};

struct Node {
  NodeId number{};
  Endpoint endpoint;
  std::unique_ptr<Stream> stream;        // none: down
  std::optional<Handshake> handshake;    // until it is over
  std::int64_t deadline_ns = 0;          // greeting: of it; down: when to try again
  std::int64_t retry_ns = retry_ns_min;  // doubled by each failure, reset by an answer
  std::uint64_t dials = 0;
  bool stranger_reported = false;
  bool held = false;  // its stream is not in the epoll set
  std::map<std::uint64_t, Question> questions;
};

}  // namespace

class RemoteLog::Impl {
 public:
  Impl(Rank self, Incarnation incarnation, int rank_count, const rail::tcp::Key& key)
      : self_(self), incarnation_(incarnation), ranks_(rank_count), key_(key) {
    HF_CHECK(sodium_init() >= 0);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    HF_CHECK(epoll_ >= 0 && timer_ >= 0);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &timer_}};
    HF_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) == 0);
  }
  ~Impl() {
    ::close(timer_);
    ::close(epoll_);
  }

  void agent(NodeId node, Endpoint endpoint);
  std::uint64_t ask(NodeId node, const Question& question);
  void hold(NodeId node, bool on);
  void cancel(std::uint64_t id);
  bool idle() const;
  int descriptor() const { return epoll_; }
  bool poll(RemoteAnswer& answer);

 private:
  void look();
  bool take_answer(RemoteAnswer& answer);
  bool take_records(Bytes body, const Question& question, RemoteAnswer& answer);
  bool take_bytes(Bytes body, Question& question, RemoteAnswer& answer);
  void release_view();
  void connect(Node& n);
  void on_ready(Node& n, std::uint32_t events);
  void greet(Node& n);
  void ask_all(Node& n);
  bool ask_one(Node& n, std::uint64_t id, Question& question);
  void lose(Node& n);
  void arm(Node& n);
  void arm_timer();
  void on_timer();

  Rank self_;
  Incarnation incarnation_;
  int ranks_;
  rail::tcp::Key key_;
  int epoll_ = -1, timer_ = -1;
  std::uint64_t last_id_ = 0;
  std::map<NodeId, Node> nodes_;
  Node* viewed_ = nullptr;
  std::size_t viewed_bytes_ = 0;
  std::unique_ptr<Stream> lost_view_;  // its connection broke while an answer in its buffer was being taken
  std::vector<RemoteRecord> records_;
  std::deque<std::string> reports_;
  std::string reason_;
};

RemoteLog::RemoteLog(Rank self, Incarnation incarnation, int rank_count, const rail::tcp::Key& job_key)
    : impl_(std::make_unique<Impl>(self, incarnation, rank_count, job_key)) {}
RemoteLog::~RemoteLog() = default;
void RemoteLog::agent(NodeId node, std::uint32_t address, std::uint16_t port) { impl_->agent(node, {address, port}); }
void RemoteLog::hold(NodeId node, bool on) { impl_->hold(node, on); }
void RemoteLog::cancel(std::uint64_t id) { impl_->cancel(id); }
bool RemoteLog::idle() const { return impl_->idle(); }
int RemoteLog::descriptor() const { return impl_->descriptor(); }
bool RemoteLog::poll(RemoteAnswer& answer) { return impl_->poll(answer); }

std::uint64_t RemoteLog::read(const RemoteStream& stream, std::uint64_t position, std::uint64_t payload_bytes,
                              std::uint32_t wait_ms) {
  Question question;
  question.read = {.source = stream.source.value,
                   .incarnation = stream.incarnation.value,
                   .destination = stream.destination.value,
                   .answer_bytes = wire::log_answer_bytes_max,
                   .position = position,
                   .payload_bytes = payload_bytes,
                   .wait_ms = wait_ms};
  return impl_->ask(stream.node, question);
}

std::uint64_t RemoteLog::fetch(const RemoteStream& stream, std::uint64_t position, segment::ChunkId chunk,
                               std::uint64_t offset, std::uint64_t length) {
  HF_CHECK(length > 0);
  Question question;
  question.is_fetch = true;
  question.length = length;
  question.fetch = {.source = stream.source.value,
                    .incarnation = stream.incarnation.value,
                    .destination = stream.destination.value,
                    .chunk = chunk,
                    .position = position,
                    .offset = offset};
  return impl_->ask(stream.node, question);
}

void RemoteLog::Impl::agent(NodeId node, Endpoint endpoint) {
  Node& n = nodes_[node];
  n.number = node;
  n.endpoint = endpoint;
  if (!n.held && !n.questions.empty() && !n.stream && n.deadline_ns == 0) connect(n);
}

bool RemoteLog::Impl::idle() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n.second.questions.empty(); });
}

std::uint64_t RemoteLog::Impl::ask(NodeId node, const Question& question) {
  Node& n = nodes_[node];
  std::uint64_t id = ++last_id_;
  n.questions[id] = question;
  if (n.held) return id;
  if (n.endpoint.port != 0 && !n.stream && n.deadline_ns == 0) connect(n);
  if (n.stream && !n.handshake) ask_all(n);
  return id;
}

void RemoteLog::Impl::hold(NodeId node, bool on) {
  Node& n = nodes_[node];
  if (std::exchange(n.held, on) == on) return;
  if (n.stream) {
    epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.ptr = &n}};
    HF_CHECK(::epoll_ctl(epoll_, on ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, n.stream->fd(), &event) == 0);
  } else if (!on && !n.questions.empty()) {
    connect(n);
  }
  arm_timer();
}

void RemoteLog::Impl::cancel(std::uint64_t id) {
  for (auto& [number, n] : nodes_) n.questions.erase(id);
}

bool RemoteLog::Impl::poll(RemoteAnswer& answer) {
  release_view();
  for (bool looked = false;;) {
    if (take_answer(answer)) return true;
    if (looked) return false;
    looked = true;
    look();
  }
}

void RemoteLog::Impl::release_view() {
  if (viewed_ && viewed_->stream) viewed_->stream->consume(viewed_bytes_);
  viewed_ = nullptr;
  lost_view_.reset();
}

void RemoteLog::Impl::look() {
  std::array<epoll_event, 16> ready;
  int count = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.ptr == &timer_) {
      on_timer();
    } else {
      Node& n = *static_cast<Node*>(event.data.ptr);
      if (n.stream && !n.held) on_ready(n, event.events);
    }
  }
}

void RemoteLog::Impl::connect(Node& n) {
  int fd = rail::tcp::dial(n.endpoint);
  if (fd < 0) return lose(n);
  n.stream = std::make_unique<Stream>(fd);
  epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.ptr = &n}};
  HF_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
  rail::tcp::Introduction introduction;
  introduction.opening = {.rank = self_.value, .incarnation = incarnation_.value};
  introduction.target = n.number.value;
  introduction.dial = ++n.dials;
  n.handshake = Handshake::dial(key_, rail::tcp::Purpose::log, rail::tcp::fresh_nonce(), introduction);
  n.deadline_ns = rail::tcp::monotonic_ns() + handshake_timeout_ns;
  arm_timer();
}

void RemoteLog::Impl::on_ready(Node& n, std::uint32_t events) {
  if (n.handshake) return greet(n);
  if (events & EPOLLOUT) n.stream->flush();
  if (events & ~EPOLLOUT) {
    // A large piece at a time. Answers that are whole are taken before more is read: see take_answer.
    if (n.stream->fill(wire::log_answer_bytes_max) == Stream::Io::ended) return lose(n);
  }
  if (n.stream->broken()) return lose(n);
  ask_all(n);
}

void RemoteLog::Impl::greet(Node& n) {
  int error = rail::tcp::connect_error(n.stream->fd(), n.endpoint);
  if (error == EINPROGRESS) return;
  if (error != 0) return lose(n);
  Stream::Io io = n.stream->talk(*n.handshake);
  switch (n.handshake->state()) {
    case Handshake::State::stranger:
      if (!n.stranger_reported)
        reports_.push_back(fmt::format("what listens at {} is not the agent of node {} of this job: not talked to",
                                       rail::tcp::describe(n.endpoint), n.number.value));
      n.stranger_reported = true;
      return lose(n);
    case Handshake::State::done:
      if (n.handshake->verdict() != rail::tcp::Verdict::accepted) return lose(n);
      n.handshake.reset();
      if (!n.stream->prepare(input_bytes, output_bytes)) return lose(n);
      return ask_all(n);
    default: break;
  }
  if (io == Stream::Io::ended) return lose(n);
  arm(n);
}

// Asks what has not been asked on this connection, as far as there is room.
void RemoteLog::Impl::ask_all(Node& n) {
  for (auto& [id, question] : n.questions)
    if (!question.asked && !ask_one(n, id, question)) break;
  if (n.stream->broken()) return lose(n);
  arm(n);
}

bool RemoteLog::Impl::ask_one(Node& n, std::uint64_t id, Question& question) {
  wire::LogMessage head{.id = id};
  Bytes body;
  wire::FetchRequest fetch = question.fetch;
  if (question.is_fetch) {
    fetch.offset += question.received;
    fetch.length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(question.length - question.received, wire::log_fetch_bytes_max));
    head.kind = wire::LogMessageKind::fetch;
    body = std::as_bytes(std::span(&fetch, 1));
  } else {
    head.kind = wire::LogMessageKind::read;
    body = std::as_bytes(std::span(&question.read, 1));
  }
  head.body_bytes = static_cast<std::uint32_t>(body.size());
  Bytes pieces[] = {std::as_bytes(std::span(&head, 1)), body};
  if (!n.stream->write(pieces)) return false;
  question.asked = true;
  return true;
}

void RemoteLog::Impl::lose(Node& n) {
  if (n.stream) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, n.stream->fd(), nullptr);
    n.stream->close();
    if (viewed_ == &n) lost_view_ = std::move(n.stream);
    n.stream.reset();
  }
  n.handshake.reset();
  for (auto& [id, question] : n.questions) question.asked = false;
  n.deadline_ns = rail::tcp::monotonic_ns() + n.retry_ns;
  n.retry_ns = std::min(2 * n.retry_ns, retry_ns_max);
  if (viewed_ == &n) viewed_ = nullptr;
  arm_timer();
}

void RemoteLog::Impl::arm(Node& n) {
  bool output = n.handshake ? !n.handshake->output().empty() : n.stream->queued() > 0;
  epoll_event event{.events = EPOLLIN | (output ? EPOLLOUT : 0u), .data = {.ptr = &n}};
  HF_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_MOD, n.stream->fd(), &event) == 0);
}

void RemoteLog::Impl::arm_timer() {
  std::int64_t first = INT64_MAX;
  for (const auto& [number, n] : nodes_)
    if (n.deadline_ns != 0 && (n.handshake || !n.stream) && !n.held) first = std::min(first, n.deadline_ns);
  itimerspec when{};
  if (first != INT64_MAX) when.it_value = {.tv_sec = first / 1'000'000'000, .tv_nsec = first % 1'000'000'000};
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void RemoteLog::Impl::on_timer() {
  std::uint64_t expirations;
  if (::read(timer_, &expirations, sizeof(expirations)) < 0) return;
  std::int64_t now = rail::tcp::monotonic_ns();
  for (auto& [number, n] : nodes_) {
    if (n.deadline_ns == 0 || n.deadline_ns > now || n.held) continue;
    if (n.handshake) {
      greet(n);  // what came while this process was elsewhere counts
      if (n.handshake && n.deadline_ns <= now) lose(n);
    } else if (!n.stream) {
      n.deadline_ns = 0;
      if (!n.questions.empty()) connect(n);
    }
  }
  arm_timer();
}

bool RemoteLog::Impl::take_answer(RemoteAnswer& answer) {
  answer = {};
  if (!reports_.empty()) {
    reason_ = std::move(reports_.front());
    reports_.pop_front();
    answer.kind = RemoteAnswer::stranger;
    answer.reason = reason_;
    return true;
  }
  for (auto& [number, n] : nodes_) {
    while (n.stream && !n.handshake) {
      ByteReader in(n.stream->unread());
      auto head = in.get<wire::LogMessage>();
      if (!in.ok()) break;
      bool known = (head.kind == wire::LogMessageKind::records || head.kind == wire::LogMessageKind::bytes) &&
                   head.body_bytes <= wire::log_answer_bytes_max;
      if (!known) {
        lose(n);
        break;
      }
      Bytes body = in.get_bytes(head.body_bytes);
      if (!in.ok()) break;
      std::size_t bytes = sizeof(head) + head.body_bytes;
      auto at = n.questions.find(head.id);
      if (at == n.questions.end() || !at->second.asked) {  // cancelled
        n.stream->consume(bytes);
        continue;
      }
      Question& question = at->second;
      answer.id = head.id;
      bool is_fetch = question.is_fetch;
      bool fits = is_fetch == (head.kind == wire::LogMessageKind::bytes);
      bool proper = fits && (is_fetch ? take_bytes(body, question, answer) : take_records(body, question, answer));
      if (!proper) {
        answer = {.kind = is_fetch ? RemoteAnswer::bytes : RemoteAnswer::records, .id = head.id, .damaged = true};
        answer.next = question.read.position;
        answer.last = true;
      }
      bool over = !is_fetch || answer.last;
      if (over) n.questions.erase(at);
      if (!proper) {
        lose(n);
        return true;
      }
      n.retry_ns = retry_ns_min;
      viewed_ = &n;
      viewed_bytes_ = bytes;
      if (!over) {
        question.asked = false;
        if (!n.held) {
          ask_one(n, head.id, question);  // what does not go now goes when the descriptor is ready
          arm(n);
        }
      }
      return true;
    }
  }
  return false;
}

bool RemoteLog::Impl::take_records(Bytes body, const Question& question, RemoteAnswer& answer) {
  ByteReader in(body);
  auto head = in.get<wire::RecordsAnswer>();
  if (!in.ok() || (head.flags & ~wire::log_answer_flags) || head.next < question.read.position) return false;
  records_.clear();
  std::uint64_t position = question.read.position;
  for (std::uint32_t i = 0; i < head.record_count; ++i) {
    auto entry = in.get<wire::RecordEntry>();
    RemoteRecord record{.header = entry.header, .chunk = entry.chunk, .payload = in.get_bytes(entry.payload_bytes)};
    std::uint64_t payload = wire::payload_in_log(entry.header);
    if (!in.ok() || entry.header.check != wire::fold(entry.header) ||
        !wire::plausible(entry.header, ranks_, INT64_MAX) || entry.header.source != question.read.source ||
        entry.header.position != position || (entry.payload_bytes != 0 && entry.payload_bytes != payload))
      return false;
    record.omitted = entry.payload_bytes != payload;
    position += segment::padded(sizeof(wire::FrameHeader) + payload);
    records_.push_back(record);
  }
  if (in.left() != 0 || position != head.next) return false;
  answer.kind = RemoteAnswer::records;
  answer.next = head.next;
  answer.published = head.published;
  answer.is_final = head.flags & wire::log_final;
  answer.absent = head.flags & wire::log_absent;
  answer.damaged = head.flags & wire::log_damaged;
  answer.dropped = head.flags & wire::log_dropped;
  answer.run = records_;
  return true;
}

bool RemoteLog::Impl::take_bytes(Bytes body, Question& question, RemoteAnswer& answer) {
  ByteReader in(body);
  auto head = in.get<wire::BytesAnswer>();
  if (!in.ok() || (head.flags & ~wire::log_answer_flags) || head.length != in.left() ||
      head.offset != question.fetch.offset + question.received)
    return false;
  std::uint64_t wanted =
      std::min<std::uint64_t>(question.length - question.received, wire::log_fetch_bytes_max);
  if (head.flags == 0 && head.length != wanted) return false;
  answer.kind = RemoteAnswer::bytes;
  answer.is_final = head.flags & wire::log_final;
  answer.absent = head.flags & wire::log_absent;
  answer.damaged = head.flags & wire::log_damaged;
  answer.offset = head.offset;
  answer.data = in.rest();
  question.received += head.length;
  answer.last = head.flags != 0 || question.received == question.length;
  return true;
}

}  // namespace hf::engine
