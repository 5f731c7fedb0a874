// The jobs of which something is kept (kept_job.hpp).
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/clients/kept_job.hpp"

namespace hf::daemon {

inline constexpr std::size_t ended_jobs_max = 20;

struct KeptRecord {
  std::string id, path;
  Json record;          // as daemon/head_clients.cpp writes it: what status says, and "host"; "exit_code" and "ended_s" once it has ended
  bool ended = false;   // well, badly or with its head
  bool lost = false;    // its head was killed
};
// Of jobs that this machine ran or runs, the newest first; without those that have no record yet.
Result<std::vector<KeptRecord>> kept_records();
// Removes the oldest beyond so many ended ones; how many those were.
Result<std::size_t> clear_ended(std::size_t keep);

}  // namespace hf::daemon
