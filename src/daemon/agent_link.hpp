// The head's side of its agents: has them started, lets only those in that prove the job's key, and sees them die.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/agent.hpp"
#include "daemon/control_channel.hpp"
#include "daemon/launcher/launcher.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

class AgentLinks {
 public:
  struct Handlers {
    std::function<void(int node)> on_joined;
    std::function<void(int node, ControlKind kind, Bytes payload)> on_frame;
    std::function<void(int node)> on_lost;                // its connection is gone
    std::function<void(const std::string&)> on_stranger;  // a connection without the key was refused; once
    std::function<void(const std::string& host, const std::string& line)> on_line;  // of a launcher, or an agent's stderr
  };
  // One agent for each host, numbered in their order.
  AgentLinks(os::EventLoop& loop, std::vector<std::string> hosts, const LaunchOptions& options, Handlers handlers);
  Result<> start();
  // A child has ended and was reaped: the agent for which it stood.
  std::optional<Launcher::Ended> on_child_ended(pid_t process, int status) { return launcher_->on_child_ended(process, status); }
  template <class T>
  void send(int node, ControlKind kind, const T& body) {
    channel(node).send(kind, body);
  }
  void send_bytes(int node, ControlKind kind, Bytes body = {}) { channel(node).send_bytes(kind, body); }
  bool joined(int node) const { return links_[static_cast<std::size_t>(node)].channel != nullptr; }
  void hold(int node, bool on);  // fault injection: its connection, see ControlChannel; what was said before is sent
  // It is lost: nothing is sent to it or heard from it any more. joined() stays true.
  void close(int node);
  template <class T>
  void send_all(ControlKind kind, const T& body) {
    for (Link& link : links_) {
      if (link.channel) link.channel->send(kind, body);
    }
  }
  void send_all_bytes(ControlKind kind, Bytes body);
  // What an agent's clock must be raised by to be the head's: 0 on the same machine.
  std::int64_t clock_offset_ns(int node) const { return links_[static_cast<std::size_t>(node)].clock_offset_ns; }
  void kill_all() { launcher_->end_all(); }
  void settle() { launcher_->settle(); }  // all agents have ended, or were killed

 private:
  struct Link {
    std::shared_ptr<ControlChannel> channel;
    std::int64_t clock_offset_ns = 0;
  };
  ControlChannel& channel(int node) { return *links_[static_cast<std::size_t>(node)].channel; }
  struct Guest {  // connected, not yet proved
    std::shared_ptr<ControlChannel> channel;
    Challenge challenge;
    Instant challenged{};
    bool over = false;
    os::EventLoop::TimerId timer = 0;
  };
  Result<> listen();
  Result<std::vector<std::uint32_t>> addresses_for(const std::string& host) const;
  void accept();
  void on_answer(const std::shared_ptr<Guest>& guest, ControlKind kind, Bytes payload);
  void dismiss(const std::shared_ptr<Guest>& guest);

  os::EventLoop& loop_;
  std::vector<std::string> hosts_;
  LaunchOptions options_;
  Handlers handlers_;
  std::unique_ptr<Launcher> launcher_;
  bool loopback_only_;
  JobKey key_{};
  os::TcpListener listener_;
  std::vector<Link> links_;
  std::list<std::shared_ptr<Guest>> guests_;
  bool told_stranger_ = false;
};

}  // namespace hf::daemon
