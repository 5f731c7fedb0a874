#include "daemon/job_clients.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace hf::daemon {
namespace {

constexpr const char* socket_variable = "HOLDFAST_JOB_SOCKET";  // in the environment of agents of this machine

}  // namespace

JobClients::JobClients(os::EventLoop& loop, ClientDoor::Say say, Owner owner) : door_(loop, std::move(say)), owner_(std::move(owner)) {
  door_.serve("status", [this](ClientId, const Json&) {
    Json out = owner_.status();
    out["job"] = id_;
    return out;
  });
  door_.serve("kill", [this](ClientId, const Json& request) {
    owner_.end(flag_member(request, "now"));
    return Json{{"ending", true}};
  });
}

void JobClients::open(JobSocket socket) {
  id_ = socket.id();
  ::setenv(socket_variable, socket.path().c_str(), 1);
  door_.open(socket.take_listener());
  socket_ = std::move(socket);
}

void JobClients::close() {
  socket_.reset();
  door_.close();
}

void remove_name_of_dead_head() {
  const char* path = std::getenv(socket_variable);
  pollfd head{STDIN_FILENO, POLLIN, 0};  // the head's end of it closes with the head
  if (path && ::poll(&head, 1, 0) > 0 && (head.revents & POLLHUP)) remove_socket_of_dead_head(path);
}

}  // namespace hf::daemon
