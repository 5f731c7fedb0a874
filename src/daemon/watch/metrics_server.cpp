#include "daemon/watch/metrics_server.hpp"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "os/clock.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {
namespace {

constexpr unsigned connections_max = 256;
constexpr std::size_t connection_bytes_max = 16 << 10;
constexpr unsigned idle_s_max = 3;
constexpr unsigned look_again_ms = 1000;
constexpr int waiting_max = 128;  // connections not yet accepted

std::string url_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(fd, generic, &size) != 0 ||
      ::getnameinfo(generic, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<os::UniqueFd> listen_at(const MetricsAddress& address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); code != 0) {
    return fail(::gai_strerror(code));
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    os::UniqueFd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd.get(), waiting_max) == 0) {
      return fd;
    }
    error = errno;
  }
  return fail(std::strerror(error));
}

MHD_Result respond(MHD_Connection* connection, unsigned code, const std::string& body, const char* type) {
  MHD_Response* response = MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result on_request(void* server, MHD_Connection* connection, const char* url, const char* method, const char*, const char*,
                      std::size_t* upload_bytes, void**) {
  const std::string_view what = method;
  if (what != MHD_HTTP_METHOD_GET && what != MHD_HTTP_METHOD_HEAD) {
    if (*upload_bytes > 0) return MHD_NO;
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET /metrics\n", "text/plain");
  }
  if (std::string_view(url) != "/metrics") return respond(connection, MHD_HTTP_NOT_FOUND, "GET /metrics\n", "text/plain");
  const std::string text = static_cast<const MetricsServer*>(server)->answer();
  return respond(connection, MHD_HTTP_OK, text, "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace

Result<MetricsAddress> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  MetricsAddress out{colon == std::string::npos ? "" : text.substr(0, colon), colon == std::string::npos ? text : text.substr(colon + 1)};
  const bool digits = std::ranges::all_of(out.port, [](char c) { return c >= '0' && c <= '9'; });
  bool good = digits && !out.port.empty() && out.port.size() <= 5 && std::stoi(out.port) <= 65535;
  if (out.host.starts_with('[')) {
    good = good && out.host.size() > 2 && out.host.ends_with(']');
    if (good) out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    good = false;
  }
  if (!good) return fail(fmt::format("'{}' is not an address (as :9100, 0.0.0.0:9100 or [::1]:9100)", text));
  if (out.host.empty()) out.host = "127.0.0.1";
  return out;
}

MetricsServer::~MetricsServer() {
  if (!server_) return;
  loop_.cancel(timer_);
  loop_.remove(epoll_);
  MHD_stop_daemon(server_);
}

Result<std::string> MetricsServer::open(const MetricsAddress& address) {
  Result<os::UniqueFd> listener = listen_at(address);
  if (!listener) return std::unexpected(listener.error());
  const std::string url = url_of(listener->get());
  server_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &on_request, this, MHD_OPTION_LISTEN_SOCKET, listener->get(),
                             MHD_OPTION_CONNECTION_LIMIT, connections_max, MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes_max,
                             MHD_OPTION_CONNECTION_TIMEOUT, idle_s_max, MHD_OPTION_END);
  if (!server_) return fail("the HTTP server cannot be started");
  listener->release();  // the server's now
  epoll_ = MHD_get_daemon_info(server_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  loop_.add(epoll_, EPOLLIN, [this](std::uint32_t) { run(); });
  return url;
}

void MetricsServer::run() {
  MHD_run(server_);
  loop_.cancel(timer_);
  // When connections are at their limit it does not listen, and says nothing when it could again.
  MHD_UNSIGNED_LONG_LONG ms = 0;
  if (MHD_get_timeout(server_, &ms) != MHD_YES || ms > look_again_ms) ms = look_again_ms;
  timer_ = loop_.at(os::later(os::now(), static_cast<std::int64_t>(ms) * os::millisecond_ns), [this] {
    timer_ = 0;
    run();
  });
}

}  // namespace hf::daemon
