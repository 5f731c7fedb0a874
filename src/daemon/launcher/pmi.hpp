// The key-value space that Slurm gives the tasks of a step: a client of its PMI-2 wire protocol (srun --mpi=pmi2). Messages are texts
// of "name=value;" behind their length in six characters, over the connection PMI_FD; one answer to each. Calls block.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class Pmi {
 public:
  // By the environment's PMI_FD, PMI_RANK, PMI_SIZE and PMI_JOBID.
  static Result<Pmi> join();
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Neither may hold a semicolon; a value is at most 1 KiB. Seen by others after the fence, which all tasks must reach.
  Result<> put(std::string_view key, std::string_view value);
  Result<> fence();
  Result<std::string> get(std::string_view key);  // empty: there is none
  Result<> finalize();

 private:
  Pmi() = default;
  Result<> init(std::string_view job);
  // The answer's text; its rc is 0.
  Result<std::string> ask(std::string_view command, std::string_view arguments = {});

  os::UniqueFd fd_;
  int rank_ = 0, size_ = 1;
};

// The value of `name` in "name=value;...", empty when it is not there.
std::string pmi_value(std::string_view text, std::string_view name);

}  // namespace hf::daemon
