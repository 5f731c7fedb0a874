// The head's side of its clients: the name of the job, and what ps, attach and kill ask for (docs/clients.md).
#pragma once
#include <functional>
#include <optional>

#include "base/bytes.hpp"
#include "daemon/clients/client_door.hpp"
#include "daemon/clients/job_socket.hpp"

namespace hf::daemon {

class JobClients {
 public:
  struct Owner {  // the head
    std::function<Json()> status;        // an object; "job" is added
    std::function<void(bool now)> end;   // as by SIGTERM, or at once
  };
  JobClients(os::EventLoop& loop, ClientDoor::Say say, Owner owner);
  // From here on the job is found by its id. Agents started after this remove the name should the head be killed.
  void open(JobSocket socket);
  void close();  // the job has ended
  ClientDoor& door() { return door_; }  // for more requests
  const std::string& id() const { return id_; }

 private:
  ClientDoor door_;
  Owner owner_;
  std::string id_;
  std::optional<JobSocket> socket_;
};

// In an agent, when it has ended: the name of its job goes if the head was killed.
void remove_name_of_dead_head();

}  // namespace hf::daemon
