// The head's side of its clients: the name of the job, and what ps, attach and kill ask for (docs/clients.md).
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <optional>

#include "base/bytes.hpp"
#include "daemon/attached_input.hpp"
#include "daemon/clients/client_door.hpp"
#include "daemon/clients/job_socket.hpp"

namespace hf::daemon {

class JobClients {
 public:
  struct Owner {  // the head
    std::function<Json()> status;        // an object; "job" is added
    std::function<void(bool now)> end;   // as by SIGTERM, or at once
    std::function<void(Bytes)> give_input;  // to rank 0; of clients, with keep_output() alone
    std::function<void(bool terminal, bool input)> on_attached;  // whether somebody shows the output on a terminal, gives input; each change
  };
  JobClients(os::EventLoop& loop, ClientDoor::Say say, Owner owner);
  // From here on the job is found by its id. Agents started after this remove the name should the head be killed.
  void open(JobSocket socket);
  void close();  // the job has ended
  // Its output is kept in that directory and its input comes from clients: they may attach.
  // `read`: the position up to which it has been shown, kept there for a later head.
  void keep_output(std::string directory, std::atomic<std::uint64_t>& read) {
    kept_ = std::move(directory);
    read_ = &read;
  }
  void on_output();  // there is more of it
  AttachedInput& input() { return input_; }
  ClientDoor& door() { return door_; }  // for more requests
  const std::string& id() const { return id_; }

 private:
  void keep_name();
  Json attach(ClientId client, const Json& request);
  void tell_attached();
  Json on_read(const Json& request);
  static constexpr std::int64_t news_ms = 10;  // clients are not told of output more often
  static constexpr std::int64_t name_ms = 10'000;  // how often it is seen whether the name is still there

  os::EventLoop& loop_;
  ClientDoor door_;
  Owner owner_;
  AttachedInput input_;
  std::string id_, kept_;
  struct Attached {
    bool terminal = false, input = false;
  };
  std::map<ClientId, Attached> attached_;
  std::atomic<std::uint64_t>* read_ = nullptr;  // position up to which attached clients have shown the output
  os::EventLoop::TimerId news_ = 0, name_ = 0;
  std::optional<JobSocket> socket_;
};

// In an agent, when it has ended: the name of its job goes if the head was killed.
void remove_name_of_dead_head();

}  // namespace hf::daemon
