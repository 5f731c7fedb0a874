// A client's connection to a running job.
#pragma once
#include "daemon/clients/client_line.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class JobClient {
 public:
  explicit JobClient(os::UniqueFd connection) : fd_(std::move(connection)) {}  // of find_running_jobs() or connect_job()
  // Sends a request and waits for its answer; events that come before are dropped. An error: the job's own words in "error"; or no answer
  // within the time, or the job has ended: ended() tells.
  Result<Json> ask(const Json& request, int timeout_ms = 5000);
  Result<> send(const Json& request, int timeout_ms = 5000);
  // The next line, an answer or an event, of what has arrived: never waits. Nothing: not yet, or ended().
  Result<std::optional<Json>> next();
  bool ended() const { return ended_; }  // the job has closed the connection, and all that it had sent was given out
  int fd() const { return fd_.get(); }

 private:
  Result<std::optional<Json>> next_buffered();
  os::UniqueFd fd_;
  LineSplitter in_{answer_bytes_max};
  bool refused_ = false, closed_ = false, ended_ = false;
};

}  // namespace hf::daemon
