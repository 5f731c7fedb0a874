// How the head and its agents let each other in: whoever connects proves that it has the job's key and says what for, and is shown
// that the other has it. docs/bootstrap.md.
#pragma once
#include <functional>
#include <list>
#include <memory>

#include "daemon/control_channel.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

using ChannelPtr = std::shared_ptr<ControlChannel>;

// Who has proved itself.
struct Visitor {
  NodeId node{};  // of which only the key is proved: whether there is such an agent is the caller's to check
  Purpose purpose{};
  std::uint32_t epoch = 0;  // tree: of the visitor's (TreeSettings)
  std::int64_t clock_offset_ns = 0;  // what its clock must be raised by to be ours; 0: it is the same
};

class ControlDoor {
 public:
  // `on_guest`: the handlers of its channel are the caller's to set. `on_stranger`: the first who did not have the key.
  ControlDoor(os::EventLoop& loop, const JobKey& key, std::function<void(const Visitor&, ChannelPtr)> on_guest,
              std::function<void()> on_stranger)
      : loop_(loop), key_(key), on_guest_(std::move(on_guest)), on_stranger_(std::move(on_stranger)) {}
  ~ControlDoor();
  Result<> open(std::uint32_t address);
  void open(os::TcpListener listener);
  std::uint16_t port() const { return listener_.port; }

 private:
  struct Guest {
    ChannelPtr channel;
    Challenge challenge;
    Instant challenged{};
    bool over = false;
    os::EventLoop::TimerId timer = 0;
  };
  using GuestPtr = std::shared_ptr<Guest>;
  void accept();
  void on_answer(const GuestPtr& guest, ControlKind kind, Bytes payload);
  void listen();
  void rest();
  void dismiss(const GuestPtr& guest, bool stranger);
  void dismiss_oldest();
  void forget(const GuestPtr& guest);

  os::EventLoop& loop_;
  const JobKey& key_;
  std::function<void(const Visitor&, ChannelPtr)> on_guest_;
  std::function<void()> on_stranger_;
  os::TcpListener listener_;
  os::EventLoop::TimerId resting_ = 0;
  std::list<GuestPtr> guests_;
  bool told_stranger_ = false;
};

// One connection to another's door, made without waiting.
class ControlVisit {
 public:
  // `on_open` once, when both have proved themselves; `on_frame` from then on; `on_close` once, also when it never opened.
  struct Handlers {
    std::function<void()> on_open;
    ControlChannel::OnFrame on_frame;
    std::function<void()> on_close;
  };
  ControlVisit(os::EventLoop& loop, const JobKey& key, NodeId self, Purpose purpose, Address at, Handlers handlers, std::uint32_t epoch = 0);
  // Of a connection that is made already.
  ControlVisit(os::EventLoop& loop, const JobKey& key, NodeId self, Purpose purpose, os::UniqueFd fd, Handlers handlers, std::uint32_t epoch = 0);
  ~ControlVisit();
  ControlVisit(const ControlVisit&) = delete;
  bool open() const { return open_ && !channel_->closed(); }
  void hold(bool on) {
    if (channel_) channel_->hold(on);
  }
  ControlChannel& channel() { return *channel_; }
  // For a caller that goes on with it, its handlers set anew, and drops the visit.
  ChannelPtr share() const { return channel_; }
  // Nobody wants to hear of it any more.
  void drop() {
    closed_ = true;
    loop_.cancel(timer_);
  }
  bool refused() const { return channel_ && channel_->refused(); }  // nobody listens there

 private:
  void on_frame(ControlKind kind, Bytes payload);
  void fail();
  os::EventLoop& loop_;
  const JobKey& key_;
  NodeId self_;
  Purpose purpose_;
  std::uint32_t epoch_;
  Handlers handlers_;
  ChannelPtr channel_;
  std::uint8_t their_nonce_[32] = {}, own_nonce_[32] = {};
  bool answered_ = false, open_ = false, closed_ = false;
  os::EventLoop::TimerId timer_ = 0;
};

}  // namespace hf::daemon
