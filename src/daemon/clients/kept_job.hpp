// What is kept of a job that runs in the background, or has: a directory with its output, its record `job.json` and, when it has ended, its
// report. In $XDG_STATE_HOME/holdfast, by default ~/.local/state/holdfast.
#pragma once
#include <optional>
#include <string>

#include "daemon/clients/client_line.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

// Its directory, made with the job and there until it is cleared or too many newer ones have ended.
class KeptJob {
 public:
  KeptJob(std::string path, os::UniqueFd directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  const std::string& path() const { return path_; }
  int directory() const { return directory_.get(); }
  // Whole, or not at all.
  Result<> write_record(const Json& record) const;
  std::optional<Json> read_record() const;  // nothing: there is none, or none that can be understood
  void remove() const;  // all of it

 private:
  bool write_over(std::string text) const;
  std::string path_;
  os::UniqueFd directory_;
};

Result<std::string> kept_jobs_path();
bool is_kept(const std::string& id);
Result<KeptJob> make_kept_job(const std::string& id);
Result<KeptJob> open_kept_job(const std::string& path);
std::string host_name();  // of this machine, as records have it

}  // namespace hf::daemon
