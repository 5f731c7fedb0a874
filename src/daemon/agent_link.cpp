#include "daemon/agent_link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "os/clock.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t proof_timeout_ms = 5000;

}  // namespace

AgentLinks::AgentLinks(os::EventLoop& loop, int node_count, Handlers handlers)
    : loop_(loop), handlers_(std::move(handlers)), links_(static_cast<std::size_t>(node_count)) {}

Result<> AgentLinks::start() {
  randombytes_buf(key_.data(), key_.size());
  Result<os::TcpListener> listener = os::listen_tcp(os::loopback_address());
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  loop_.add(listener_.fd.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
  for (int node = 0; node < std::ssize(links_); ++node) {
    Result<pid_t> process = start_agent(node);
    if (!process) return std::unexpected(process.error());
    links_[static_cast<std::size_t>(node)].process = *process;
  }
  return {};
}

Result<pid_t> AgentLinks::start_agent(int node) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  os::UniqueFd read_end(ends[0]), write_end(ends[1]);
  AgentTicket ticket{key_, os::loopback_address(), listener_.port, 0, node};
  // Less than PIPE_BUF into an empty pipe: never waits, never short.
  if (::write(write_end.get(), &ticket, sizeof ticket) != sizeof ticket) return fail("cannot write to a pipe");
  os::Command command;
  command.path = "/proc/self/exe";
  command.arguments = {"holdfast", "agent"};
  for (char** entry = environ; *entry; ++entry) command.environment.emplace_back(*entry);
  Result<os::UniqueFd> null = os::open_null();
  if (!null) return std::unexpected(null.error());
  command.input = null->get();
  command.extra = read_end.get();
  std::expected<pid_t, os::StartError> pid = os::start_process(command);
  if (!pid) return fail(pid.error().text);
  return *pid;
}

void AgentLinks::accept() {
  while (os::UniqueFd fd = os::accept_tcp(listener_.fd.get())) {
    auto guest = std::make_shared<Guest>();
    std::weak_ptr<Guest> weak = guest;
    guest->channel = std::make_shared<ControlChannel>(
        loop_, std::move(fd),
        [this, weak](ControlKind kind, Bytes payload) {
          if (auto self = weak.lock()) on_answer(self, kind, payload);
        },
        [this, weak] {
          if (auto self = weak.lock()) dismiss(self);
        });
    make_nonce(guest->challenge.nonce);
    guests_.push_back(guest);
    guest->timer = loop_.at(os::later(os::now(), proof_timeout_ms * os::millisecond_ns), [this, weak] {
      if (auto self = weak.lock()) dismiss(self);
    });
    guest->channel->send(ControlKind::challenge, guest->challenge);
  }
}

void AgentLinks::dismiss(const std::shared_ptr<Guest>& guest) {
  if (std::exchange(guest->over, true)) return;
  loop_.cancel(guest->timer);
  handlers_.on_stranger("a connection that does not know the job's key was refused");
  // Not from inside one of the channel's own handlers.
  loop_.at(os::now(), [this, guest] { guests_.remove(guest); });
}

void AgentLinks::on_answer(const std::shared_ptr<Guest>& guest, ControlKind kind, Bytes payload) {
  Answer answer;
  if (guest->over) return;
  if (kind != ControlKind::answer || !read_struct(payload, answer) || answer.node < 0 ||
      answer.node >= std::ssize(links_) || joined(answer.node)) {
    return dismiss(guest);
  }
  std::uint8_t expected[32];
  make_proof(key_, "agent", answer.node, guest->challenge.nonce, answer.nonce, expected);
  if (!same_proof(expected, answer.proof)) return dismiss(guest);
  guest->over = true;
  loop_.cancel(guest->timer);
  Confirm confirm;
  make_proof(key_, "head", answer.node, guest->challenge.nonce, answer.nonce, confirm.proof);
  guest->channel->send(ControlKind::confirm, confirm);
  guest->channel->set_frame_bytes_max(control_frame_bytes_max);
  int node = answer.node;
  guest->channel->set_handlers([this, node](ControlKind k, Bytes p) { handlers_.on_frame(node, k, p); },
                               [this, node] { handlers_.on_lost(node); });
  links_[static_cast<std::size_t>(node)].channel = guest->channel;
  loop_.at(os::now(), [this, guest] { guests_.remove(guest); });
  handlers_.on_joined(node);
}

int AgentLinks::node_of_process(pid_t process) const {
  for (std::size_t node = 0; node < links_.size(); ++node) {
    if (links_[node].process == process) return static_cast<int>(node);
  }
  return -1;
}

void AgentLinks::on_process_death(pid_t process) {
  int node = node_of_process(process);
  if (node >= 0) links_[static_cast<std::size_t>(node)].process = 0;
}

void AgentLinks::send_all_bytes(ControlKind kind, Bytes body) {
  for (Link& link : links_) {
    if (link.channel) link.channel->send_bytes(kind, body);
  }
}

void AgentLinks::close(int node) {
  if (joined(node)) channel(node).shut();
}

bool AgentLinks::any_alive() const {
  for (const Link& link : links_) {
    if (link.process != 0) return true;
  }
  return false;
}

void AgentLinks::kill_all() {
  for (const Link& link : links_) {
    if (link.process != 0) ::kill(link.process, SIGKILL);
  }
}

}  // namespace hf::daemon
