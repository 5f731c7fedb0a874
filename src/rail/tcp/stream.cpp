#include "rail/tcp/stream.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/map_apart.hpp"
#include "os/error_text.hpp"

namespace hf::rail::tcp {
namespace {

sockaddr_in socket_address(Endpoint e) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = e.address;
  a.sin_port = htons(e.port);
  return a;
}

void no_delay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

// Inside a machine there is no network to be gentle with: reno, which every kernel has. BBR, where it is the system's, takes the rate of bursts
// for that of the network, and keeps to it (docs/tcp.md). Elsewhere the system's choice stands.
void choose_congestion_control(int fd, std::uint32_t peer) {
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return;
  if (own.sin_addr.s_addr != peer && ntohl(own.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) return;
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);  // refused: the system's choice stands here too
}

constexpr std::size_t borrow_bytes_min = 8 << 10;  // less than this is copied

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

std::string describe(Endpoint e) {
  const auto* b = reinterpret_cast<const unsigned char*>(&e.address);
  return fmt::format("{}.{}.{}.{}:{}", b[0], b[1], b[2], b[3], e.port);
}

Result<int> listen_on(std::uint32_t address, std::uint16_t& port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in a = socket_address({address, port});
  socklen_t size = sizeof(a);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&a), size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) != 0) {
    std::string why = os::error_text(errno);
    if (fd >= 0) ::close(fd);
    return fail(Lost::rail, fmt::format("cannot listen for TCP connections on {}: {}", describe({address, port}), why));
  }
  port = ntohs(a.sin_port);
  return fd;
}

int dial(Endpoint to) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  no_delay(fd);
  sockaddr_in a = socket_address(to);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof(a)) != 0 && errno != EINPROGRESS && errno != EINTR) {
    int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  choose_congestion_control(fd, to.address);  // its own address is known from here on
  return fd;
}

int connect_error(int fd, Endpoint to) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  sockaddr_in a{};
  size = sizeof(a);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&a), &size) != 0) return errno == ENOTCONN ? EINPROGRESS : errno;
  // A dial to a free port of the ephemeral range may be given that very port as its own, and then meets itself.
  size = sizeof(a);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) != 0) return errno;
  return a.sin_addr.s_addr == to.address && ntohs(a.sin_port) == to.port ? ECONNREFUSED : 0;
}

int accept_from(int listener, Endpoint& from) {
  sockaddr_in a{};
  socklen_t size = sizeof(a);
  int fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&a), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return -1;
  no_delay(fd);
  choose_congestion_control(fd, a.sin_addr.s_addr);
  from = {a.sin_addr.s_addr, ntohs(a.sin_port)};
  return fd;
}

Nonce fresh_nonce() {
  Nonce nonce;
  // Not through the C library: a recorder may replace its getrandom, and a replay must not use old nonces.
  std::size_t have = 0;
  while (have < nonce.size()) {
    long n = ::syscall(SYS_getrandom, nonce.data() + have, nonce.size() - have, 0);
    HF_CHECK(n > 0 || errno == EINTR);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  return nonce;
}

std::int64_t monotonic_ns() {
  timespec t{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

PageBuffer::~PageBuffer() {
  if (base_) ::munmap(base_, capacity_);
}

bool PageBuffer::map(std::size_t capacity) {
  HF_CHECK(!base_);
  void* p = map_apart(capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (p == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(p);
  capacity_ = capacity;
  return true;
}

MutableBytes PageBuffer::room(std::size_t n) {
  HF_CHECK(n <= capacity_ - size());
  if (n > capacity_ - end_) {
    std::memmove(base_, base_ + begin_, size());
    end_ = size();
    begin_ = 0;
  }
  return {base_ + end_, n};
}

void PageBuffer::consume(std::size_t n) {
  HF_CHECK(n <= size());
  begin_ += n;
  if (begin_ == end_) begin_ = end_ = 0;
}

void Stream::close() {
  if (fd_ < 0) return;
  // Also when a forked child of the program still holds a copy of the descriptor.
  ::shutdown(fd_, SHUT_RDWR);
  ::close(fd_);
  fd_ = -1;
}

Stream::Io Stream::talk(Handshake& handshake) {
  Io result = Io::idle;
  for (;;) {
    bool moved = false;
    if (Bytes out = handshake.output(); !out.empty()) {
      ssize_t n = ::send(fd_, out.data(), out.size(), MSG_NOSIGNAL);
      if (n < 0 && !would_block(errno)) return Io::ended;
      if (n > 0) handshake.sent(static_cast<std::size_t>(n)), moved = true;
    }
    if (MutableBytes in = handshake.room(); !in.empty()) {
      ssize_t n = ::recv(fd_, in.data(), in.size(), 0);
      if (n == 0 || (n < 0 && !would_block(errno))) return Io::ended;
      if (n > 0) handshake.received(static_cast<std::size_t>(n)), moved = true;
    }
    if (!moved) return result;
    result = Io::progress;
  }
}

Stream::Io Stream::fill(MutableBytes first, std::size_t most, std::size_t& placed) {
  MutableBytes room = input_.room(std::min(most, input_.capacity() - input_.size()));
  placed = 0;
  ssize_t n;
  if (first.empty()) {
    if (room.empty()) return Io::idle;
    n = ::recv(fd_, room.data(), room.size(), 0);
  } else {
    iovec vector[2] = {{first.data(), first.size()}, {room.data(), room.size()}};
    msghdr message{};
    message.msg_iov = vector;
    message.msg_iovlen = 2;
    n = ::recvmsg(fd_, &message, 0);
  }
  if (n <= 0) return n < 0 && would_block(errno) ? Io::idle : Io::ended;
  placed = std::min(first.size(), static_cast<std::size_t>(n));
  input_.added(static_cast<std::size_t>(n) - placed);
  return Io::progress;
}

namespace {

constexpr std::size_t vector_max = 96;

// As much of the pieces as one call takes. -1 with errno.
ssize_t send_pieces(int fd, Bytes first, std::span<const Bytes> pieces) {
  iovec vector[vector_max];
  std::size_t count = 0;
  if (!first.empty()) vector[count++] = {const_cast<std::byte*>(first.data()), first.size()};
  for (Bytes piece : pieces) {
    if (count == vector_max) break;
    if (!piece.empty()) vector[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vector;
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

bool Stream::write(std::span<const Bytes> pieces, std::span<const Bytes> lasting) {
  std::size_t total = 0;
  for (Bytes piece : pieces) total += piece.size();
  if (broken_ || !fits(total)) return false;
  std::size_t done = 0;
  if (output_.size() == 0) {
    ssize_t n = send_pieces(fd_, {}, pieces);
    if (n > 0) done = static_cast<std::size_t>(n);
    if (n < 0 && !would_block(errno)) {
      broken_ = true;
      return false;
    }
  }
  if (lasting.empty() || total - done < borrow_bytes_min) {
    queue(pieces, done);
  } else {
    queue(pieces.first(1), done);
    borrow(lasting, done - std::min(done, pieces[0].size()));
  }
  return true;
}

void Stream::queue(std::span<const Bytes> pieces, std::size_t done) {
  for (Bytes piece : pieces) {
    Bytes rest = piece.subspan(std::min(done, piece.size()));
    done -= piece.size() - rest.size();
    if (rest.empty()) continue;
    std::memcpy(output_.room(rest.size()).data(), rest.data(), rest.size());
    output_.added(rest.size());
  }
}

void Stream::borrow(std::span<const Bytes> pieces, std::size_t done) {
  borrowed_.clear();
  borrowed_at_ = 0;
  for (Bytes piece : pieces) {
    Bytes rest = piece.subspan(std::min(done, piece.size()));
    done -= piece.size() - rest.size();
    if (rest.empty()) continue;
    borrowed_.push_back(rest);
    borrowed_bytes_ += rest.size();
  }
}

void Stream::written(std::size_t n) {
  std::size_t copied = std::min(n, output_.size());
  output_.consume(copied);
  n -= copied;
  borrowed_bytes_ -= n;
  while (n > 0) {
    Bytes& piece = borrowed_[borrowed_at_];
    std::size_t here = std::min(n, piece.size());
    piece = piece.subspan(here);
    n -= here;
    if (piece.empty()) ++borrowed_at_;
  }
}

Stream::Io Stream::flush() {
  Io result = Io::idle;
  while (queued() > 0) {
    ssize_t n = send_pieces(fd_, output_.bytes(), std::span(borrowed_).subspan(borrows() ? borrowed_at_ : borrowed_.size()));
    if (n < 0 && would_block(errno)) return result;
    if (n <= 0) {
      broken_ = true;
      output_.consume(output_.size());
      borrowed_bytes_ = 0;
      return Io::ended;
    }
    written(static_cast<std::size_t>(n));
    result = Io::progress;
  }
  return result;
}

void Stream::acknowledge_now() {
  int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

std::uint64_t Stream::unacknowledged() const {
  int n = 0;
  return ::ioctl(fd_, SIOCOUTQ, &n) == 0 && n > 0 ? static_cast<std::uint64_t>(n) : 0;
}

}  // namespace hf::rail::tcp
