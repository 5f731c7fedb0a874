// How an agent lets other agents of its job in, and gets in itself: whoever connects proves that it has the job's key, and is shown
// that the other has it. docs/bootstrap.md.
#pragma once
#include <functional>
#include <list>
#include <memory>

#include "daemon/control_channel.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

using ChannelPtr = std::shared_ptr<ControlChannel>;

class ControlDoor {
 public:
  // `on_guest(number, channel)`: an agent has proved itself; the handlers of its channel are the caller's to set.
  ControlDoor(os::EventLoop& loop, const JobKey& key, std::function<void(int, ChannelPtr)> on_guest,
              std::function<void()> on_stranger)
      : loop_(loop), key_(key), on_guest_(std::move(on_guest)), on_stranger_(std::move(on_stranger)) {}
  ~ControlDoor();
  Result<> open(std::uint32_t address);
  std::uint16_t port() const { return listener_.port; }

 private:
  struct Guest {
    ChannelPtr channel;
    Challenge challenge;
    bool over = false;
    os::EventLoop::TimerId timer = 0;
  };
  using GuestPtr = std::shared_ptr<Guest>;
  void accept();
  void on_answer(const GuestPtr& guest, ControlKind kind, Bytes payload);
  void dismiss(const GuestPtr& guest, bool stranger);
  void forget(const GuestPtr& guest);

  os::EventLoop& loop_;
  const JobKey& key_;
  std::function<void(int, ChannelPtr)> on_guest_;
  std::function<void()> on_stranger_;
  os::TcpListener listener_;
  std::list<GuestPtr> guests_;
  bool told_stranger_ = false;
};

// One connection to another agent's door, made without waiting.
class ControlVisit {
 public:
  // `on_open` once, when both have proved themselves; `on_frame` from then on; `on_close` once, also when it never opened.
  struct Handlers {
    std::function<void()> on_open;
    ControlChannel::OnFrame on_frame;
    std::function<void()> on_close;
  };
  ControlVisit(os::EventLoop& loop, const JobKey& key, int self, std::uint32_t address, std::uint16_t port, Handlers handlers);
  ~ControlVisit();
  ControlVisit(const ControlVisit&) = delete;
  bool open() const { return open_ && !channel_->closed(); }
  void hold(bool on) {
    if (channel_) channel_->hold(on);
  }
  ControlChannel& channel() { return *channel_; }

 private:
  void on_frame(ControlKind kind, Bytes payload);
  void fail();
  os::EventLoop& loop_;
  const JobKey& key_;
  int self_;
  Handlers handlers_;
  std::unique_ptr<ControlChannel> channel_;
  std::uint8_t their_nonce_[32] = {}, own_nonce_[32] = {};
  bool answered_ = false, open_ = false, closed_ = false;
  os::EventLoop::TimerId timer_ = 0;
};

}  // namespace hf::daemon
