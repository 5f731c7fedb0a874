#include "daemon/clients/job_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

bool wait_for(int fd, short events, Instant limit) {
  const std::int64_t left_ns = limit.value - os::now().value;
  pollfd wait{fd, events, 0};
  return left_ns > 0 && (::poll(&wait, 1, static_cast<int>(left_ns / os::millisecond_ns) + 1) > 0 || errno == EINTR);
}

constexpr const char* no_answer = "the job does not answer: its head is stopped, or very busy";

}  // namespace

Result<> JobClient::send(const Json& request, int timeout_ms) {
  const std::string line = encode_line(request);
  const Instant limit = os::later(os::now(), timeout_ms * os::millisecond_ns);
  for (std::size_t sent = 0; sent < line.size();) {
    ssize_t n = ::send(fd_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    else if (errno == EAGAIN) {
      if (!wait_for(fd_.get(), POLLOUT, limit)) return fail(no_answer);
    } else if (errno != EINTR) {
      refused_ = true;
      return fail("the job has ended");
    }
  }
  return {};
}

Result<std::optional<Json>> JobClient::next_buffered() {
  auto line = in_.next();
  if (!line) return std::unexpected(line.error());
  if (!*line) {
    ended_ = closed_;
    return std::nullopt;
  }
  Result<Json> object = decode_line(**line);
  if (!object) return fail(fmt::format("the job's answer is not understood: {}", object.error().text));
  return std::move(*object);
}

Result<std::optional<Json>> JobClient::next() {
  for (;;) {
    auto object = next_buffered();
    if (!object || *object || closed_) return object;
    std::array<char, 64 * 1024> piece;
    ssize_t n = ::recv(fd_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n > 0) in_.add({piece.data(), static_cast<std::size_t>(n)});
    else if (n < 0 && errno == EAGAIN) return std::nullopt;
    else if (n == 0 || errno != EINTR) closed_ = true;
  }
}

Result<Json> JobClient::ask(const Json& request, int timeout_ms) {
  const Instant limit = os::later(os::now(), timeout_ms * os::millisecond_ns);
  // What does not read any more may have said why.
  if (Result<> sent = send(request, timeout_ms); !sent && !refused_) return std::unexpected(sent.error());
  for (;;) {
    auto object = next();
    if (!object) return std::unexpected(object.error());
    if (*object && !(*object)->contains("event")) {
      if (auto error = text_member(**object, "error")) return fail(*error);
      return std::move(**object);
    }
    if (ended_) return fail("the job has ended");
    if (!*object && !wait_for(fd_.get(), POLLIN, limit)) return fail(no_answer);
  }
}

}  // namespace hf::daemon
