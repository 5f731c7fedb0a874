#include "daemon/bootstrap_server.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>

#include "daemon/control_channel.hpp"
#include "os/clock.hpp"
#include "os/memory_file.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

using wire::BootstrapKind;

namespace {

constexpr std::uint64_t past_step_bytes = 4 << 20;

template <class T>
Bytes as_bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

BootstrapServer::~BootstrapServer() {
  for (auto& [fd, connection] : connections_) loop_.remove(fd);
  if (listener_) loop_.remove(listener_.get());
}

Result<> BootstrapServer::open() {
  name_ = fmt::format("holdfast-{:08x}{:08x}{:08x}{:08x}", randombytes_random(), randombytes_random(),
                      randombytes_random(), randombytes_random());
  Result<os::UniqueFd> listener = os::listen_seqpacket(name_);
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  os::set_non_blocking(listener_.get());
  loop_.add(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
  return {};
}

void BootstrapServer::accept_all() {
  for (;;) {
    os::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) {
      tell_stranger(peer.pid);
      continue;
    }
    auto connection = std::make_shared<Connection>();
    connection->process = peer.pid;
    int number = fd.get();
    connection->fd = std::move(fd);
    connections_[number] = connection;
    loop_.add(number, EPOLLIN, [this, connection](std::uint32_t) { receive_all(connection); });
  }
}

void BootstrapServer::drain() {
  accept_all();
  auto all = connections_;
  for (auto& [fd, connection] : all) receive_all(connection);
}

void BootstrapServer::receive_all(const ConnectionPtr& connection) {
  while (connection->fd) {
    Result<os::Datagram> datagram = os::receive_datagram(connection->fd.get());
    if (!datagram && datagram.error().text.empty()) return;
    if (!datagram || datagram->bytes.empty()) return drop(connection);
    if (!on_datagram(connection, datagram->bytes)) return drop(connection);
  }
}

void BootstrapServer::drop(const ConnectionPtr& connection) {
  if (!connection->fd) return;
  loop_.remove(connection->fd.get());
  connections_.erase(connection->fd.get());
  connection->fd.reset();
}

void BootstrapServer::close_connection(int rank) {
  auto all = connections_;
  for (auto& [fd, connection] : all) {
    if (connection->rank == rank) drop(connection);
  }
}

// False: it has not joined, and is not talked to any more. Who begins with anything but a hello is no rank.
bool BootstrapServer::on_datagram(const ConnectionPtr& from, Bytes bytes) {
  Connection& connection = *from;
  BootstrapKind kind{};
  const bool has_kind = read_struct(bytes, kind);
  if (has_kind && kind == BootstrapKind::hello) {
    on_hello(connection, bytes);
  } else if (has_kind && kind == BootstrapKind::get_past && connection.rank < 0) {
    return give_past(from, bytes);
  } else if (connection.rank < 0) {
    refuse(connection, "the first datagram must be hello");
    tell_stranger(connection.process);
  } else if (has_kind) {
    on_question(connection, kind, bytes);
  } else {
    refuse(connection, "a datagram without a kind");
  }
  return connection.rank >= 0;
}

void BootstrapServer::tell_stranger(pid_t process) {
  if (std::exchange(told_stranger_, true)) return;
  owner_.on_stranger(fmt::format("refused process {}, which is no rank of this job, on the socket of the ranks", process));
}

void BootstrapServer::on_hello(Connection& connection, Bytes payload) {
  wire::Hello hello;
  if (connection.rank >= 0 || !read_struct(payload, hello)) return refuse(connection, "hello out of place");
  if (hello.version != wire::bootstrap_version) {
    return refuse(connection, fmt::format("this library speaks version {} to the launcher, the launcher version {}: "
                                          "use the library and the launcher of one installation",
                                          hello.version, wire::bootstrap_version));
  }
  if (Result<> may = owner_.may_join(hello.rank, connection.process); !may) return refuse(connection, may.error().text);
  connection.rank = hello.rank;
  owner_.on_joined(hello.rank, connection.process);
  std::vector<std::byte> body;
  ByteWriter out(body);
  out.put(owner_.welcome(hello.rank));
  for (const wire::RankEntry& rank : owner_.ranks()) out.put(rank);
  for (const wire::CollectiveRule& rule : owner_.collective_rules()) out.put(rule);
  int fds[] = {owner_.board_fd(), owner_.own_control_fd(hello.rank), owner_.doorbell_fd(hello.rank)};
  answer(connection, BootstrapKind::welcome, body, fds);
}

void BootstrapServer::on_question(Connection& connection, BootstrapKind kind, Bytes payload) {
  switch (kind) {
    case BootstrapKind::get_segment: {
      wire::SegmentName name;
      if (!read_struct(payload, name)) return refuse(connection, "get_segment is too short");
      return give_segment(connection, name);
    }
    case BootstrapKind::get_doorbell: {
      wire::RankName name;
      if (!read_struct(payload, name)) return refuse(connection, "get_doorbell is too short");
      int fd = owner_.doorbell_fd(name.rank);
      if (fd < 0) return answer(connection, BootstrapKind::absent);
      return answer(connection, BootstrapKind::doorbell, {}, std::span(&fd, 1));
    }
    case BootstrapKind::new_log_segment:
      return give_log_segment(connection);
    case BootstrapKind::listening:
    case BootstrapKind::initialized:
    case BootstrapKind::finalized:
    case BootstrapKind::abort_job:
    case BootstrapKind::diverged:
    case BootstrapKind::caught_up:
    case BootstrapKind::unprotect:
    case BootstrapKind::look_up:
    case BootstrapKind::forget:
    case BootstrapKind::determined:
    case BootstrapKind::orphaned:
    case BootstrapKind::note:
      return owner_.on_told(connection.rank, kind, payload);
    default:
      refuse(connection, fmt::format("kind {} is not for the agent", static_cast<std::uint32_t>(kind)));
  }
}

// A recorder's only question: the connection ends with the answer. True: that is to come.
bool BootstrapServer::give_past(const ConnectionPtr& connection, Bytes payload) {
  wire::PastName name;
  if (!read_struct(payload, name) || name.version != wire::recorder_version) {
    return refuse(*connection, "the recorder and the launcher are of different versions: use those of one installation"), false;
  }
  if (Result<> may = owner_.may_have_past(name.rank, connection->process); !may) return refuse(*connection, may.error().text), false;
  return go_on_with_past(connection, std::make_shared<LibcPast>(owner_.segments(), name.rank));
}

bool BootstrapServer::go_on_with_past(const ConnectionPtr& connection, const std::shared_ptr<LibcPast>& past) {
  const Result<bool> done = past->step(past_step_bytes);
  if (!done) return refuse(*connection, done.error().text), false;
  if (!*done) {
    loop_.at(os::now(), [this, connection, past] {
      if (connection->fd && !go_on_with_past(connection, past)) drop(connection);
    });
    return true;
  }
  if (past->info().bytes == 0 && past->info().clock_reads == 0) return answer(*connection, BootstrapKind::absent), false;
  const int fd = past->file();
  answer(*connection, BootstrapKind::past, as_bytes_of(past->info()), std::span(&fd, 1));
  return false;
}

void BootstrapServer::give_segment(Connection& connection, const wire::SegmentName& name) {
  SegmentStore::Segment found = owner_.segments().find(name);
  if (found.fd < 0) return answer(connection, BootstrapKind::absent);
  Result<os::UniqueFd> read_only = os::reopen_read_only(found.fd);
  if (!read_only) return owner_.on_fatal(connection.rank, read_only.error().text);
  int fd = read_only->get();
  answer(connection, BootstrapKind::segment, as_bytes_of(found.info), std::span(&fd, 1));
}

void BootstrapServer::give_log_segment(Connection& connection) {
  auto made = owner_.segments().create_log(connection.rank);
  if (!made) return owner_.on_fatal(connection.rank, made.error().text);
  if (auto* exhausted = std::get_if<wire::Exhausted>(&*made)) {
    owner_.on_exhausted(connection.rank, *exhausted);
    return answer(connection, BootstrapKind::exhausted, as_bytes_of(*exhausted));
  }
  const auto& segment = std::get<SegmentStore::Segment>(*made);
  answer(connection, BootstrapKind::segment, as_bytes_of(segment.info), std::span(&segment.fd, 1));
}

void BootstrapServer::refuse(Connection& connection, std::string_view text) {
  answer(connection, BootstrapKind::refused, bytes_of(text));
}

void BootstrapServer::answer(Connection& connection, BootstrapKind kind, Bytes body, std::span<const int> fds) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.put(kind);
  out.put_bytes(body);
  // Fails only when the process is gone, which is seen by other means: one answer a question always has room.
  (void)os::send_datagram(connection.fd.get(), bytes, fds);
}

}  // namespace hf::daemon
