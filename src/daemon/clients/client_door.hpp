// Where other commands of the user (ps, attach, kill, top) reach a running job: answers the requests of clients on a Unix socket
// (docs/clients.md). One thread, the loop's.
//
// The job never waits for a client. Of each one request is read at a time, and the next when its answer has left; so what is kept for a
// client is one answer. A client that leaves an answer unread for long, or sends a line that is too long, is cut off.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "base/ids.hpp"
#include "daemon/clients/client_line.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

using ClientId = Strong<struct ClientIdName, std::uint64_t>;  // of one connection, never used again

class ClientDoor {
 public:
  // Gives the answer to one request, an object without "event". Null: answer() follows, and until then nothing more of this client is read.
  using Handler = std::function<Json(ClientId client, const Json& request)>;
  using Say = std::function<void(const std::string& line)>;

  static constexpr std::size_t clients_max = 64;

  // A client is cut off that leaves an answer unread for `unread_ms_max`.
  ClientDoor(os::EventLoop& loop, Say say, std::int64_t unread_ms_max = 10'000)
      : loop_(loop), say_(std::move(say)), unread_ms_max_(unread_ms_max) {}
  ~ClientDoor() { close(); }
  void serve(const std::string& request, Handler handler) { handlers_[request] = std::move(handler); }
  void on_gone(std::function<void(ClientId)> handler) { on_gone_ = std::move(handler); }  // not for those that close() ends
  void open(os::UniqueFd listener);  // as os::listen_unix gives it; again with another one: who is connected stays so
  bool is_open() const { return static_cast<bool>(listener_); }
  void answer(ClientId client, const Json& answer);  // the one that the handler did not give; unknown clients are ignored
  // A line that was not asked for: an object with "event". False: the client has not read yet what was told before, and is not told this.
  bool tell(ClientId client, const Json& event);
  void close();  // what was written and not yet read can still be read

 private:
  struct Client;
  using ClientPointer = std::shared_ptr<Client>;
  void accept();
  void on_events(const ClientPointer& client, std::uint32_t events);
  void advance(const ClientPointer& client);
  void handle(Client& client, const std::string& line);
  void put_answer(Client& client, const Json& answer);
  bool flush(Client& client);
  void arm(const ClientPointer& client);
  void remove(const ClientPointer& client);
  void say_once(bool& said, const std::string& line);

  os::EventLoop& loop_;
  Say say_;
  std::int64_t unread_ms_max_;
  os::UniqueFd listener_;
  std::map<std::string, Handler> handlers_;
  std::function<void(ClientId)> on_gone_;
  std::map<ClientId, ClientPointer> clients_;
  ClientId last_{};
  bool stranger_told_ = false, crowd_told_ = false;
};

}  // namespace hf::daemon
