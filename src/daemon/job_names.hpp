// Which job the user means: by its id, the beginning of its id, or none where there is only one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "daemon/clients/job_client.hpp"
#include "daemon/clients/kept_jobs.hpp"

namespace hf::daemon {

struct ChosenJob {
  std::string id;
  std::optional<JobClient> client;  // none: it does not run
  std::optional<KeptRecord> kept;   // none: its output went to a terminal
};

// One of those that run; an error says so when it is one that has ended.
Result<ChosenJob> choose_running(const std::string& given);
// One that runs, or whose output is kept.
Result<ChosenJob> choose_any(const std::string& given);

// The one of `ids` that `given` is or begins; empty: the only one. `what`: "job", "running job".
Result<std::string> choose_id(const std::vector<std::string>& ids, const std::string& given, const std::string& what);

}  // namespace hf::daemon
