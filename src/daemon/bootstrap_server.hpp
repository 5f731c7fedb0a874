// The agent's side of wire/bootstrap.hpp: accepts ranks on an abstract Unix socket, checks who they are, answers their
// questions, and hands on what they tell.
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "daemon/libc_past.hpp"
#include "daemon/segments.hpp"
#include "os/event_loop.hpp"
#include "os/seqpacket.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

// What the server asks its agent. Ranks in its arguments have been checked: local, and joined.
class BootstrapOwner {
 public:
  virtual ~BootstrapOwner() = default;
  // May this process join as that rank? The text refuses it.
  virtual Result<> may_join(int rank, pid_t process) = 0;
  // May this process have what that rank's earlier incarnations recorded of the C library? It is it, or may become it.
  virtual Result<> may_have_past(int rank, pid_t process) = 0;
  virtual void on_joined(int rank, pid_t process) = 0;  // before its welcome is sent
  virtual wire::Welcome welcome(int rank) = 0;
  virtual std::vector<wire::RankEntry> ranks() = 0;
  virtual const std::vector<wire::CollectiveRule>& collective_rules() = 0;
  virtual int board_fd() = 0;
  virtual int own_control_fd(int rank) = 0;
  virtual int doorbell_fd(int rank) = 0;  // -1: not of this node
  virtual SegmentStore& segments() = 0;
  virtual void on_exhausted(int rank, const wire::Exhausted& limits) = 0;
  virtual void on_told(int rank, wire::BootstrapKind kind, Bytes payload) = 0;
  virtual void on_fatal(int rank, const std::string& text) = 0;  // the agent cannot do what it must: ends the job
  virtual void on_stranger(const std::string& line) = 0;         // a process that is no rank was refused; once
};

class BootstrapServer {
 public:
  BootstrapServer(os::EventLoop& loop, BootstrapOwner& owner) : loop_(loop), owner_(owner) {}
  ~BootstrapServer();
  Result<> open();
  const std::string& name() const { return name_; }
  // Takes everything that processes, dead ones too, have sent until now. Before judging a death.
  void drain();
  void close_connection(int rank);

 private:
  struct Connection {
    os::UniqueFd fd;
    pid_t process = 0;
    int rank = -1;  // until hello
  };
  using ConnectionPtr = std::shared_ptr<Connection>;
  void accept_all();
  void receive_all(const ConnectionPtr& connection);
  void drop(const ConnectionPtr& connection);
  bool on_datagram(const ConnectionPtr& from, Bytes bytes);
  void on_hello(Connection& connection, Bytes payload);
  void on_question(Connection& connection, wire::BootstrapKind kind, Bytes payload);
  bool give_past(const ConnectionPtr& connection, Bytes payload);
  bool go_on_with_past(const ConnectionPtr& connection, const std::shared_ptr<LibcPast>& past);
  void give_segment(Connection& connection, const wire::SegmentName& name);
  void give_log_segment(Connection& connection);
  void refuse(Connection& connection, std::string_view text);
  void tell_stranger(pid_t process);
  void answer(Connection& connection, wire::BootstrapKind kind, Bytes body = {}, std::span<const int> fds = {});

  os::EventLoop& loop_;
  BootstrapOwner& owner_;
  std::string name_;
  os::UniqueFd listener_;
  std::map<int, ConnectionPtr> connections_;  // by descriptor
  bool told_stranger_ = false;
};

}  // namespace hf::daemon
