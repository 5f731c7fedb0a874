// Answers GET /metrics by HTTP, in the owner's event loop (libmicrohttpd without threads). What a stranger sends is answered with an
// error or cut off; connections are few, small and short-lived.
#pragma once
#include <functional>
#include <string>

#include "base/result.hpp"
#include "os/event_loop.hpp"

struct MHD_Daemon;

namespace hf::daemon {

// ":9100", "9100": on the loopback alone; "0.0.0.0:9100", "host:9100", "[::1]:0" (port 0: the system chooses).
struct MetricsAddress {
  std::string host, port;
};
Result<MetricsAddress> parse_metrics_address(const std::string& text);

class MetricsServer {
 public:
  // `text` is called for each answer.
  MetricsServer(os::EventLoop& loop, std::function<std::string()> text) : loop_(loop), text_(std::move(text)) {}
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Gives the address really taken, as in a URL.
  Result<std::string> open(const MetricsAddress& address);
  std::string answer() const { return text_(); }

 private:
  void run();

  os::EventLoop& loop_;
  std::function<std::string()> text_;
  MHD_Daemon* server_ = nullptr;
  int epoll_ = -1;  // the server's
  os::EventLoop::TimerId timer_ = 0;
};

}  // namespace hf::daemon
