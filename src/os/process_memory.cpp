#include "os/process_memory.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "os/process.hpp"

namespace hf::os {

namespace {

// The system itself: a recorder may replace the C library's functions, and knows process ids by other numbers (src/recorder/ids.cpp).
ssize_t move(long call, pid_t pid, const iovec* local, const iovec* remote, std::size_t pieces) {
  return ::syscall(call, pid, local, pieces, remote, pieces, 0UL);
}

// A call may move less than it was given.
template <class Move>
bool move_all(std::byte* here, std::uint64_t there, std::size_t bytes, Move&& move_some) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = move_some(iovec{here + done, bytes - done}, iovec{reinterpret_cast<void*>(there + done), bytes - done});
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

void allow_memory_access() { ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

std::optional<MemoryCookie> random_cookie() {
  MemoryCookie cookie;
  // Not the C library's, which a recorder may replace: each incarnation has its own.
  if (::syscall(SYS_getrandom, &cookie, sizeof(cookie), 0) != sizeof(cookie)) return std::nullopt;
  return cookie;
}

bool ProcessMemory::open(pid_t pid, std::uint64_t cookie_address, const MemoryCookie& cookie) {
  if (pid <= 0) return false;
  Result<UniqueFd> fd = open_pidfd(pid);
  if (!fd) return false;
  pidfd_ = std::move(*fd);
  pid_ = pid;
  MemoryCookie found;
  if (read(cookie_address, std::as_writable_bytes(std::span(&found, 1))) && found.value == cookie.value && alive()) return true;
  close();
  return false;
}

bool ProcessMemory::read(std::uint64_t address, MutableBytes out) const {
  return move_all(out.data(), address, out.size(), [this](const iovec& local, const iovec& remote) {
    return move(SYS_process_vm_readv, pid_, &local, &remote, 1);
  });
}

bool ProcessMemory::write(std::uint64_t address, Bytes in) const {
  return move_all(const_cast<std::byte*>(in.data()), address, in.size(), [this](const iovec& local, const iovec& remote) {
    return alive() ? move(SYS_process_vm_writev, pid_, &local, &remote, 1) : ssize_t{-1};
  });
}

bool ProcessMemory::read_at_once(std::span<const Piece> pieces) const {
  std::array<iovec, pieces_max> local{}, remote{};
  std::size_t bytes = 0, n = 0;
  for (const Piece& piece : pieces.first(std::min(pieces.size(), pieces_max))) {
    local[n] = {piece.out.data(), piece.out.size()};
    remote[n++] = {reinterpret_cast<void*>(piece.address), piece.out.size()};
    bytes += piece.out.size();
  }
  const ssize_t got = move(SYS_process_vm_readv, pid_, local.data(), remote.data(), n);
  return n == pieces.size() && got >= 0 && static_cast<std::size_t>(got) == bytes;
}

bool ProcessMemory::alive() const {
  pollfd look{pidfd_.get(), POLLIN, 0};
  if (!is_open()) return false;
  int ended = 0;
  do ended = ::poll(&look, 1, 0);
  while (ended < 0);  // a signal: that is no answer
  return ended == 0;
}

}  // namespace hf::os
