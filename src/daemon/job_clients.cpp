#include "daemon/job_clients.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr const char* socket_variable = "HOLDFAST_JOB_SOCKET";  // in the environment of agents of this machine

}  // namespace

JobClients::JobClients(os::EventLoop& loop, ClientDoor::Say say, Owner owner)
    : loop_(loop), door_(loop, std::move(say)), owner_(std::move(owner)), input_(door_, [this](Bytes bytes) { owner_.give_input(bytes); }) {
  door_.serve("status", [this](ClientId, const Json&) {
    Json out = owner_.status();
    out["job"] = id_;
    return out;
  });
  door_.serve("kill", [this](ClientId, const Json& request) {
    owner_.end(flag_member(request, "now"));
    return Json{{"ending", true}};
  });
  door_.serve("attach", [this](ClientId client, const Json& request) { return attach(client, request); });
  door_.serve("read", [this](ClientId, const Json& request) { return on_read(request); });
  door_.serve("input", [this](ClientId client, const Json& request) {
    if (kept_.empty()) return error_line("the job reads its terminal, or what its input was redirected to");
    return input_.on_request(client, request);
  });
  door_.on_gone([this](ClientId client) {
    if (attached_.erase(client) > 0) tell_attached();
  });
}

Json JobClients::attach(ClientId client, const Json& request) {
  if (kept_.empty()) return error_line(fmt::format("job {} was not started with --detach: its output goes to its own terminal", id_));
  attached_[client] = {flag_member(request, "terminal"), flag_member(request, "input")};
  tell_attached();
  return {{"kept", kept_}, {"read", read_->load()}};
}

void JobClients::tell_attached() {
  Attached any;
  for (const auto& [client, one] : attached_) {
    any.terminal |= one.terminal;
    any.input |= one.input;
  }
  owner_.on_attached(any.terminal, any.input);
}

Json JobClients::on_read(const Json& request) {
  auto position = number_member(request, "position");
  if (!position) return error_line("the request has no \"position\"");
  if (!read_) return error_line("the output of this job is not kept");
  *read_ = std::max(read_->load(), *position);
  return {{"read", read_->load()}};
}

void JobClients::on_output() {
  if (news_ != 0 || attached_.empty()) return;
  news_ = loop_.at(os::later(os::now(), news_ms * os::millisecond_ns), [this] {
    news_ = 0;
    const std::map<ClientId, Attached> all = attached_;
    for (const auto& [client, one] : all) door_.tell(client, {{"event", "output"}});
  });
}

void JobClients::open(JobSocket socket) {
  id_ = socket.id();
  ::setenv(socket_variable, socket.path().c_str(), 1);
  door_.open(socket.take_listener());
  socket_ = std::move(socket);
  keep_name();
}

void JobClients::keep_name() {
  if (auto listener = socket_->renew()) door_.open(std::move(*listener));
  name_ = loop_.at(os::later(os::now(), name_ms * os::millisecond_ns), [this] { keep_name(); });
}

void JobClients::close() {
  loop_.cancel(news_);
  loop_.cancel(name_);
  socket_.reset();
  door_.close();
}

void remove_name_of_dead_head() {
  const char* path = std::getenv(socket_variable);
  pollfd head{STDIN_FILENO, POLLIN, 0};  // the head's end of it closes with the head
  if (path && ::poll(&head, 1, 0) > 0 && (head.revents & POLLHUP)) remove_socket_of_dead_head(path);
}

}  // namespace hf::daemon
