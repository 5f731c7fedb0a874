// A non-blocking TCP socket with bounded buffers for both directions, and the few socket calls around it. Shared by the
// rail and the log service. One thread. Buffers are anonymous mappings: the program's heap is left as it is, and pages
// that are never used cost nothing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "rail/tcp/handshake.hpp"

namespace hf::rail::tcp {

// Addresses are IPv4 in network byte order, ports in host byte order.
struct Endpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
};
std::string describe(Endpoint endpoint);  // "127.0.0.1:4711"

Result<int> listen_on(std::uint32_t address, std::uint16_t& port);  // port 0: any free one, filled in
// A socket that is being connected, or -1 with errno. Never blocks.
int dial(Endpoint to);
int connect_error(int fd, Endpoint to);     // 0, EINPROGRESS, or why it failed; to itself counts as ECONNREFUSED
int accept_from(int listener, Endpoint& from);  // -1 with errno
Nonce fresh_nonce();
std::int64_t monotonic_ns();  // not through the C library, whose clock a recorder may replace

// Bytes in the order of arrival, contiguous.
class PageBuffer {
 public:
  PageBuffer() = default;
  ~PageBuffer();
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  bool map(std::size_t capacity);  // false: no memory
  std::size_t size() const { return end_ - begin_; }
  std::size_t capacity() const { return capacity_; }
  Bytes bytes() const { return {base_ + begin_, size()}; }
  // Room for n more bytes behind bytes(); moves them to the front when that is needed. n must fit.
  MutableBytes room(std::size_t n);
  void added(std::size_t n) { end_ += n; }
  void consume(std::size_t n);

 private:
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
};

class Stream {
 public:
  explicit Stream(int fd) : fd_(fd) {}  // owns the descriptor
  ~Stream() { close(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_; }
  void close();
  // Before the first read or write of anything but a handshake. False: no memory.
  bool prepare(std::size_t input_bytes, std::size_t output_bytes) {
    return input_.map(input_bytes) && output_.map(output_bytes);
  }

  enum class Io { progress, idle, ended };  // idle: would block. ended: closed by the other side, or broken
  // Moves a handshake on. Never touches bytes that follow it.
  Io talk(Handshake& handshake);

  // Reads at most `most` bytes (and no more than fit) behind unread().
  Io fill(std::size_t most) {
    std::size_t none;
    return fill({}, most, none);
  }
  // The same behind `first`, which is filled before; nothing may be unread. `placed`: how much of it was filled.
  Io fill(MutableBytes first, std::size_t most, std::size_t& placed);
  Bytes unread() const { return input_.bytes(); }
  void consume(std::size_t n) { input_.consume(n); }

  // Takes all pieces or none: to the socket when nothing is queued, what remains into the output buffer. False: no room.
  // `lasting`: the bytes of all pieces but the first where they stay in place until borrows() is false: when much remains it is
  // written from there.
  bool write(std::span<const Bytes> pieces, std::span<const Bytes> lasting = {});
  bool fits(std::size_t n) const { return !borrows() && n <= output_.capacity() - output_.size(); }
  bool borrows() const { return borrowed_bytes_ > 0; }
  std::size_t queued() const { return output_.size() + borrowed_bytes_; }
  Io flush();
  bool broken() const { return broken_; }  // a write failed: what was queued is gone; what has arrived may be read
  std::uint64_t unacknowledged() const;    // in the socket
  void acknowledge_now();                  // what was read, instead of with the next answer or some 40 ms later

 private:
  int fd_;
  void queue(std::span<const Bytes> pieces, std::size_t done);
  void borrow(std::span<const Bytes> pieces, std::size_t done);
  void written(std::size_t n);

  bool broken_ = false;
  PageBuffer input_, output_;
  std::vector<Bytes> borrowed_;  // behind what is in output_: from borrowed_at_ on, not yet written
  std::size_t borrowed_at_ = 0, borrowed_bytes_ = 0;
};

}  // namespace hf::rail::tcp
