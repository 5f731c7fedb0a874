#include "daemon/job_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/clients/job_socket.hpp"

namespace hf::daemon {
namespace {

Result<JobClient> connect_chosen(std::vector<RunningJob>& running, const std::string& id) {
  for (RunningJob& job : running) {
    if (job.id == id && job.connection) return JobClient(std::move(job.connection));
  }
  return fail(fmt::format("job {} does not answer: its head is stopped, or very busy", id));
}

std::string how_ended(const KeptRecord& kept) {
  if (kept.lost) return "its head was killed";
  return fmt::format("with exit code {}", number_member(kept.record, "exit_code").value_or(1));
}

}  // namespace

Result<std::string> choose_id(const std::vector<std::string>& ids, const std::string& given, const std::string& what) {
  std::vector<std::string> found;
  for (const std::string& id : ids) {
    if (id == given) return id;
    if (id.starts_with(given)) found.push_back(id);
  }
  if (found.size() == 1) return found.front();
  if (found.empty() && given.empty()) return fail(fmt::format("there is no {} (holdfast ps -a)", what));
  if (found.empty()) return fail(fmt::format("there is no {} {} (holdfast ps -a)", what, given));
  if (given.empty()) return fail(fmt::format("which {}? There are {}", what, fmt::join(found, ", ")));
  return fail(fmt::format("{} may be {}: give more letters", given, fmt::join(found, ", ")));
}

Result<ChosenJob> choose_running(const std::string& given) {
  auto running = find_running_jobs();
  if (!running) return std::unexpected(running.error());
  std::vector<std::string> ids;
  for (const RunningJob& job : *running) ids.push_back(job.id);
  Result<std::string> id = choose_id(ids, given, "running job");
  if (!id) {
    auto any = given.empty() ? fail("") : choose_any(given);
    if (any && any->kept && any->kept->ended) {
      return fail(fmt::format("job {0} has ended: {1} (holdfast logs {0})", any->id, how_ended(*any->kept)));
    }
    return std::unexpected(id.error());
  }
  Result<JobClient> client = connect_chosen(*running, *id);
  if (!client) return std::unexpected(client.error());
  return ChosenJob{*id, std::move(*client), std::nullopt};
}

Result<ChosenJob> choose_any(const std::string& given) {
  auto records = kept_records();
  if (!records) return std::unexpected(records.error());
  auto running = find_running_jobs();
  if (!running) return std::unexpected(running.error());
  std::vector<std::string> live, all;
  for (const RunningJob& job : *running) live.push_back(job.id);
  for (const KeptRecord& kept : *records) all.push_back(kept.id);
  for (const std::string& id : live) {
    if (std::ranges::find(all, id) == all.end()) all.push_back(id);
  }
  // The one that runs is meant where others have ended.
  Result<std::string> id = given.empty() && live.size() == 1 ? live.front() : choose_id(all, given, "job");
  if (!id) return std::unexpected(id.error());
  ChosenJob out{*id, std::nullopt, std::nullopt};
  for (KeptRecord& kept : *records) {
    if (kept.id == *id) out.kept = std::move(kept);
  }
  if (std::ranges::find(live, *id) == live.end()) return out;
  Result<JobClient> client = connect_chosen(*running, *id);
  if (client) out.client = std::move(*client);
  else if (!out.kept) return std::unexpected(client.error());
  return out;
}

}  // namespace hf::daemon
