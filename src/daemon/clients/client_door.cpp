#include "daemon/clients/client_door.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "os/clock.hpp"
#include "os/unix_stream.hpp"

namespace hf::daemon {

struct ClientDoor::Client {
  ClientId id;
  os::UniqueFd fd;
  LineSplitter in{request_bytes_max};
  std::string out;
  std::size_t out_sent = 0;
  bool answer_owed = false;  // a handler has put it off
  bool last_words = false;   // to be closed when `out` has left
  bool over = false;
  bool answer_waits = false;          // in `out`
  os::EventLoop::TimerId unread = 0;  // runs while it does
};

void ClientDoor::open(os::UniqueFd listener) {
  if (listener_) loop_.remove(listener_.get());
  listener_ = std::move(listener);
  loop_.add(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

void ClientDoor::close() {
  if (!listener_) return;
  loop_.remove(listener_.get());
  listener_.reset();
  on_gone_ = {};
  while (!clients_.empty()) remove(ClientPointer(clients_.begin()->second));
}

void ClientDoor::say_once(bool& said, const std::string& line) {
  if (!std::exchange(said, true)) say_(line);
}

void ClientDoor::accept() {
  while (os::UniqueFd fd = os::accept_unix(listener_.get())) {
    if (os::peer_user(fd.get()) != ::geteuid()) {
      say_once(stranger_told_, "a process of another user was refused at the job's socket");
      continue;
    }
    if (clients_.size() >= clients_max) {
      const std::string line = encode_line(error_line(fmt::format("the job has {} clients already", clients_max)));
      static_cast<void>(::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL));  // fits an empty socket, or its reader is gone
      say_once(crowd_told_, fmt::format("a client was refused: the job has {} already", clients_max));
      continue;
    }
    auto client = std::make_shared<Client>();
    client->id = ++last_;
    client->fd = std::move(fd);
    clients_[client->id] = client;
    std::weak_ptr<Client> weak = client;
    loop_.add(client->fd.get(), EPOLLIN, [this, weak](std::uint32_t events) {
      if (auto self = weak.lock(); self && !self->over) on_events(self, events);
    });
  }
}

void ClientDoor::on_events(const ClientPointer& client, std::uint32_t events) {
  if (events & EPOLLIN) {
    std::array<char, 16 * 1024> piece;
    ssize_t n = ::recv(client->fd.get(), piece.data(), piece.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return remove(client);
    client->in.add({piece.data(), static_cast<std::size_t>(n)});
  } else if (events & (EPOLLHUP | EPOLLERR)) {
    return remove(client);
  }
  advance(client);
}

// As far as it goes without waiting: what is to be written leaves, then the next request is handled.
void ClientDoor::advance(const ClientPointer& client) {
  while (!client->over) {
    if (!flush(*client)) return remove(client);
    if (!client->out.empty() || client->answer_owed) break;
    if (client->last_words) return remove(client);
    auto line = client->in.next();
    if (line && !*line) break;
    if (line) {
      handle(*client, **line);
    } else {
      put_answer(*client, error_line(line.error().text));
      client->last_words = true;
    }
  }
  if (!client->over) arm(client);
}

void ClientDoor::handle(Client& client, const std::string& line) {
  Result<Json> request = decode_request(line);
  if (!request) return put_answer(client, error_line(request.error().text));
  const std::string name = *text_member(*request, "request");
  auto found = handlers_.find(name);
  if (found == handlers_.end()) return put_answer(client, error_line(fmt::format("this job knows no request \"{}\"", name)));
  client.answer_owed = true;
  Json given = found->second(client.id, *request);
  if (given.is_null() || client.over) return;
  client.answer_owed = false;
  put_answer(client, given);
}

void ClientDoor::put_answer(Client& client, const Json& answer) {
  std::string line = encode_line(answer);
  if (line.size() > answer_bytes_max) line = encode_line(error_line("the answer is too long"));
  client.out += line;
  client.answer_waits = true;
}

void ClientDoor::answer(ClientId id, const Json& answer) {
  auto found = clients_.find(id);
  if (found == clients_.end() || !std::exchange(found->second->answer_owed, false)) return;
  const ClientPointer client = found->second;
  put_answer(*client, answer);
  advance(client);
}

bool ClientDoor::tell(ClientId id, const Json& event) {
  auto found = clients_.find(id);
  if (found == clients_.end() || !found->second->out.empty()) return false;
  const ClientPointer client = found->second;
  client->out = encode_line(event);
  if (!flush(*client)) {
    remove(client);
    return false;
  }
  arm(client);
  return true;
}

bool ClientDoor::flush(Client& client) {
  while (client.out_sent < client.out.size()) {
    ssize_t n = ::send(client.fd.get(), client.out.data() + client.out_sent, client.out.size() - client.out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    client.out_sent += static_cast<std::size_t>(n);
  }
  client.out.clear();
  client.out_sent = 0;
  client.answer_waits = false;
  return true;
}

// Waits for what the client's state needs: room, or the next request; while it is owed an answer for its end alone.
void ClientDoor::arm(const ClientPointer& client) {
  loop_.modify(client->fd.get(), !client->out.empty() ? std::uint32_t{EPOLLOUT} : client->answer_owed ? 0u : std::uint32_t{EPOLLIN});
  if (!client->answer_waits) return loop_.cancel(client->unread);
  if (client->unread != 0) return;
  client->unread = loop_.at(os::later(os::now(), unread_ms_max_ * os::millisecond_ns), [this, weak = std::weak_ptr(client)] {
    if (auto self = weak.lock(); self && !self->over) remove(self);
  });
}

void ClientDoor::remove(const ClientPointer& client) {
  if (std::exchange(client->over, true)) return;
  loop_.cancel(client->unread);
  loop_.remove(client->fd.get());
  client->fd.reset();
  clients_.erase(client->id);
  if (on_gone_) on_gone_(client->id);
}

}  // namespace hf::daemon
