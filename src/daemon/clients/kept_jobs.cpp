#include "daemon/clients/kept_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/clients/job_socket.hpp"
#include "os/unix_stream.hpp"

namespace hf::daemon {
namespace {

// Its socket's name may have gone, until it makes another.
bool is_running_head(std::uint64_t process) {
  std::string words;
  std::getline(std::ifstream(fmt::format("/proc/{}/cmdline", process)), words);  // none of a zombie
  return words.find("--detach") != std::string::npos;
}

}  // namespace

Result<std::vector<KeptRecord>> kept_records() {
  std::vector<KeptRecord> out;
  Result<std::string> path = kept_jobs_path();
  if (!path) return std::unexpected(path.error());
  std::error_code code;
  if (!std::filesystem::exists(*path, code)) return out;
  if (Result<os::UniqueFd> all = os::open_private_directory(*path); !all) return std::unexpected(all.error());
  for (const auto& entry : std::filesystem::directory_iterator(*path, code)) {
    KeptRecord kept{entry.path().filename(), entry.path(), {}};
    if (!is_job_id(kept.id)) continue;
    Result<KeptJob> job = open_kept_job(kept.path);
    auto record = job ? job->read_record() : std::nullopt;
    if (!record || text_member(*record, "host") != host_name()) continue;
    // One that runs no more has written how it ended before its name went.
    if (!record->contains("exit_code")) {
      Result<os::UniqueFd> running = connect_job(kept.id);
      if (!running && running.error().text.empty() && !is_running_head(number_member(*record, "head").value_or(0))) {
        record = job->read_record();
        if (!record) continue;
        kept.lost = !record->contains("exit_code");
      }
    }
    kept.ended = kept.lost || record->contains("exit_code");
    kept.record = std::move(*record);
    out.push_back(std::move(kept));
  }
  auto started = [](const KeptRecord& kept) { return number_member(kept.record, "started_ns").value_or(0); };
  std::ranges::stable_sort(out, std::greater(), started);
  return out;
}

Result<std::size_t> clear_ended(std::size_t keep) {
  auto records = kept_records();
  if (!records) return std::unexpected(records.error());
  std::size_t ended = 0, cleared = 0;
  for (const KeptRecord& kept : *records) {
    if (!kept.ended || ++ended <= keep) continue;
    Result<KeptJob> job = open_kept_job(kept.path);
    if (std::error_code code; !job && !std::filesystem::exists(kept.path, code)) continue;  // somebody else has cleared it meanwhile
    if (!job) return std::unexpected(job.error());
    job->remove();
    ++cleared;
  }
  return cleared;
}

}  // namespace hf::daemon
