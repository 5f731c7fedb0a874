// Standard input of a job without a terminal: what clients of `attach` send goes to rank 0, never more ahead than a window. Until somebody
// attaches there is none, and it does not end.
#pragma once
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "daemon/clients/client_door.hpp"

namespace hf::daemon {

class AttachedInput {
 public:
  // `give`: with an empty argument at the end of the input, then never again.
  AttachedInput(ClientDoor& door, std::function<void(Bytes)> give) : door_(door), give_(std::move(give)) {}
  void open();  // the agents are there
  Json on_request(ClientId client, const Json& request);
  void on_taken(std::uint64_t bytes);  // so many were passed on
  void close();                        // the job ends
  void resume_ended() { ended_ = true; }  // a head before this one was told so

 private:
  static constexpr std::uint64_t window_bytes = 256 * 1024;
  void answer_waiting();
  void end();
  ClientDoor& door_;
  std::function<void(Bytes)> give_;
  std::string early_;  // came before open(): at most one request of each client
  bool early_end_ = false;
  std::vector<ClientId> waiting_;  // for room
  std::uint64_t ahead_ = 0;
  bool open_ = false, ended_ = false;
};

}  // namespace hf::daemon
