// The name under which a running job is found by other commands of its user: a Unix socket in a directory of the user alone.
//
// Directories: $XDG_RUNTIME_DIR/holdfast where that variable names a directory of the user, else /tmp/holdfast-UID. Who looks for jobs
// looks into all that there are. $HOLDFAST_RUNTIME_DIR, where it is set, is the only one.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

// Six letters that can be said: unique among the jobs of a user, running or kept.
bool is_job_id(const std::string& text);

class JobSocket {
 public:
  // Under a new id, of which `taken` says that nothing else has it.
  static Result<JobSocket> make(const std::function<bool(const std::string& id)>& taken);
  JobSocket(JobSocket&&) = default;
  JobSocket& operator=(JobSocket&&) = default;
  ~JobSocket() { remove(); }
  const std::string& id() const { return id_; }
  const std::string& path() const { return path_; }
  os::UniqueFd take_listener() { return std::move(listener_); }
  // A new listener when the name has gone although the job goes on, as with the directory of a user who has logged out.
  std::optional<os::UniqueFd> renew();
  void remove();   // the name; what listens goes on
  void abandon();  // the name is another process's from now on

 private:
  JobSocket() = default;
  std::string id_, path_;
  os::UniqueFd directory_, listener_;
};

struct RunningJob {
  std::string id;
  os::UniqueFd connection;  // none when the head does not accept, as one that is stopped
};
// All jobs of the user whose heads listen. Names of heads that were killed are removed. An error: a directory is not the user's alone.
Result<std::vector<RunningJob>> find_running_jobs();
Result<os::UniqueFd> connect_job(const std::string& id);  // an error with an empty text: it does not run

// For an agent whose head has died: the name goes, unless the head listens after all.
void remove_socket_of_dead_head(const std::string& path);

}  // namespace hf::daemon
