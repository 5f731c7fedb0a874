#include "daemon/control_door.hpp"

#include <algorithm>
#include <cerrno>

#include "os/clock.hpp"
#include "rail/tcp/stream.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t proof_timeout_ms = 5000;
constexpr std::int64_t rest_ns = 50 * os::millisecond_ns;
constexpr std::size_t guests_max = 2048;  // twice as many as there can be hosts

// Whose proof it is, and for what.
const char* role(bool visitor, Purpose purpose) {
  switch (purpose) {
    case Purpose::join: return visitor ? "joins" : "is joined";
    case Purpose::tree: return visitor ? "visits for the tree" : "is visited for the tree";
    case Purpose::events: return visitor ? "visits for events" : "is visited for events";
  }
  return "";
}

Instant proof_deadline() { return os::later(os::now(), proof_timeout_ms * os::millisecond_ns); }

}  // namespace

ControlDoor::~ControlDoor() {
  for (const GuestPtr& guest : guests_) loop_.cancel(guest->timer);
  if (resting_ != 0) loop_.cancel(resting_);
  else if (listener_.fd) loop_.remove(listener_.fd.get());
}

Result<> ControlDoor::open(std::uint32_t address) {
  Result<os::TcpListener> listener = os::listen_tcp(address);
  if (!listener) return std::unexpected(listener.error());
  open(std::move(*listener));
  return {};
}

void ControlDoor::open(os::TcpListener listener) {
  listener_ = std::move(listener);
  listen();
}

void ControlDoor::listen() {
  loop_.add(listener_.fd.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

// No descriptor is left: whoever has waited longest to prove itself goes, and the door stays shut for a moment.
void ControlDoor::rest() {
  dismiss_oldest();
  loop_.remove(listener_.fd.get());
  resting_ = loop_.at(os::later(os::now(), rest_ns), [this] {
    resting_ = 0;
    listen();
  });
}

void ControlDoor::accept() {
  while (true) {
    os::UniqueFd fd = os::accept_tcp(listener_.fd.get());
    if (!fd && (errno == EMFILE || errno == ENFILE)) return rest();
    if (!fd) return;
    if (guests_.size() >= guests_max) dismiss_oldest();
    auto guest = std::make_shared<Guest>();
    std::weak_ptr<Guest> weak = guest;
    guest->channel = std::make_shared<ControlChannel>(
        loop_, std::move(fd),
        [this, weak](ControlKind kind, Bytes payload) {
          if (auto self = weak.lock()) on_answer(self, kind, payload);
        },
        [this, weak] {
          if (auto self = weak.lock()) dismiss(self, self->channel->malformed());
        });
    make_nonce(guest->challenge.nonce);
    guests_.push_back(guest);
    guest->timer = loop_.at(proof_deadline(), [this, weak] {
      if (auto self = weak.lock()) dismiss(self, false);
    });
    guest->challenged = os::now();
    guest->channel->send(ControlKind::challenge, guest->challenge);
  }
}

void ControlDoor::on_answer(const GuestPtr& guest, ControlKind kind, Bytes payload) {
  Answer answer;
  if (guest->over) return;
  if (kind != ControlKind::answer || !read_struct(payload, answer) || answer.purpose > Purpose::events) return dismiss(guest, true);
  std::uint8_t expected[32];
  make_proof(key_, role(true, answer.purpose), answer.node, guest->challenge.nonce, answer.nonce, expected);
  if (!same_proof(expected, answer.proof)) return dismiss(guest, true);
  guest->over = true;
  loop_.cancel(guest->timer);
  Confirm confirm;
  make_proof(key_, role(false, answer.purpose), answer.node, guest->challenge.nonce, answer.nonce, confirm.proof);
  guest->channel->send(ControlKind::confirm, confirm);
  guest->channel->set_frame_bytes_max(control_frame_bytes_max);
  const Instant now = os::now();
  Visitor visitor{NodeId(answer.node), answer.purpose, answer.epoch};
  // A clock of this machine says something between the two.
  if (answer.time_ns < guest->challenged.value || answer.time_ns > now.value) {
    visitor.clock_offset_ns = (guest->challenged.value + now.value) / 2 - answer.time_ns;
  }
  on_guest_(visitor, guest->channel);
  forget(guest);
}

// An agent of the job may have died, or changed its mind, before it was through: only who cannot prove itself is told of, once.
void ControlDoor::dismiss(const GuestPtr& guest, bool stranger) {
  if (std::exchange(guest->over, true)) return;
  loop_.cancel(guest->timer);
  if (stranger && !std::exchange(told_stranger_, true)) on_stranger_();
  forget(guest);
}

void ControlDoor::dismiss_oldest() {
  const auto oldest = std::ranges::find(guests_, false, [](const GuestPtr& guest) { return guest->over; });
  if (oldest != guests_.end()) dismiss(GuestPtr(*oldest), false);
}

// Not from inside one of the channel's own handlers.
void ControlDoor::forget(const GuestPtr& guest) {
  guest->timer = loop_.at(os::now(), [this, guest] {
    guest->timer = 0;
    guests_.remove(guest);
  });
}

ControlVisit::ControlVisit(os::EventLoop& loop, const JobKey& key, NodeId self, Purpose purpose, Address at, Handlers handlers,
                           std::uint32_t epoch)
    : ControlVisit(loop, key, self, purpose, os::UniqueFd(rail::tcp::dial({at.address, at.port})), std::move(handlers), epoch) {}

ControlVisit::ControlVisit(os::EventLoop& loop, const JobKey& key, NodeId self, Purpose purpose, os::UniqueFd fd, Handlers handlers,
                           std::uint32_t epoch)
    : loop_(loop), key_(key), self_(self), purpose_(purpose), epoch_(epoch), handlers_(std::move(handlers)) {
  timer_ = loop_.at(fd ? proof_deadline() : os::now(), [this] {
    timer_ = 0;
    fail();
  });
  if (!fd) return;
  channel_ = std::make_shared<ControlChannel>(
      loop_, std::move(fd), [this](ControlKind kind, Bytes payload) { on_frame(kind, payload); }, [this] { fail(); });
}

ControlVisit::~ControlVisit() { loop_.cancel(timer_); }

void ControlVisit::fail() {
  loop_.cancel(timer_);
  if (!std::exchange(closed_, true)) handlers_.on_close();
}

void ControlVisit::on_frame(ControlKind kind, Bytes payload) {
  if (closed_) return;
  if (open_) return handlers_.on_frame(kind, payload);
  if (Challenge challenge; !answered_ && kind == ControlKind::challenge && read_struct(payload, challenge)) {
    answered_ = true;
    std::memcpy(their_nonce_, challenge.nonce, sizeof their_nonce_);
    make_nonce(own_nonce_);
    Answer answer{self_.value, purpose_, os::now().value, epoch_};
    std::memcpy(answer.nonce, own_nonce_, sizeof own_nonce_);
    make_proof(key_, role(true, purpose_), self_.value, their_nonce_, own_nonce_, answer.proof);
    return channel_->send(ControlKind::answer, answer);
  }
  std::uint8_t expected[32];
  make_proof(key_, role(false, purpose_), self_.value, their_nonce_, own_nonce_, expected);
  Confirm confirm;
  if (!answered_ || kind != ControlKind::confirm || !read_struct(payload, confirm) || !same_proof(expected, confirm.proof)) {
    return fail();
  }
  loop_.cancel(timer_);
  open_ = true;
  channel_->set_frame_bytes_max(control_frame_bytes_max);
  handlers_.on_open();
}

}  // namespace hf::daemon
