// The head's side of its agents: starts them, lets only those in that prove the job's key, and sees them die.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "daemon/agent.hpp"
#include "daemon/control_channel.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

class AgentLinks {
 public:
  struct Handlers {
    std::function<void(int node)> on_joined;
    std::function<void(int node, ControlKind kind, Bytes payload)> on_frame;
    std::function<void(int node)> on_lost;                // its connection is gone
    std::function<void(const std::string&)> on_stranger;  // a connection without the key was refused
  };
  AgentLinks(os::EventLoop& loop, int node_count, Handlers handlers);
  Result<> start();
  // The agent whose process this is; -1: none.
  int node_of_process(pid_t process) const;
  void on_process_death(pid_t process);
  ControlChannel& channel(int node) { return *links_[static_cast<std::size_t>(node)].channel; }
  bool joined(int node) const { return links_[static_cast<std::size_t>(node)].channel != nullptr; }
  // It is lost: nothing is sent to it or heard from it any more. joined() stays true.
  void close(int node);
  template <class T>
  void send_all(ControlKind kind, const T& body) {
    for (Link& link : links_) {
      if (link.channel) link.channel->send(kind, body);
    }
  }
  void send_all_bytes(ControlKind kind, Bytes body);
  bool any_alive() const;
  void kill_all();  // SIGKILL to the agents

 private:
  struct Link {
    pid_t process = 0;  // 0: has ended
    std::shared_ptr<ControlChannel> channel;
  };
  struct Guest {  // connected, not yet proved
    std::shared_ptr<ControlChannel> channel;
    Challenge challenge;
    bool over = false;
    os::EventLoop::TimerId timer = 0;
  };
  Result<pid_t> start_agent(int node);
  void accept();
  void on_answer(const std::shared_ptr<Guest>& guest, ControlKind kind, Bytes payload);
  void dismiss(const std::shared_ptr<Guest>& guest);

  os::EventLoop& loop_;
  Handlers handlers_;
  JobKey key_{};
  os::TcpListener listener_;
  std::vector<Link> links_;
  std::list<std::shared_ptr<Guest>> guests_;
};

}  // namespace hf::daemon
