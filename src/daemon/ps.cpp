// `holdfast ps` and `holdfast kill`.
#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/client_app.hpp"
#include "daemon/client_commands.hpp"
#include "daemon/clients/job_socket.hpp"
#include "daemon/job_names.hpp"
#include "os/clock.hpp"
#include "os/print.hpp"

namespace hf::daemon {
namespace {

constexpr int status_ms_max = 2000;
constexpr std::int64_t end_ms_max = 30'000;

// Those that run, and of those that have ended what is kept: as status says, with "state" ended, lost or "no answer".
Result<std::vector<Json>> all_jobs(bool ended_too) {
  std::vector<Json> out;
  auto running = find_running_jobs();
  if (!running) return std::unexpected(running.error());
  for (RunningJob& job : *running) {
    Json silent = {{"job", job.id}, {"state", "no answer"}};
    if (!job.connection) {
      out.push_back(std::move(silent));
      continue;
    }
    JobClient client(std::move(job.connection));
    Result<Json> status = client.ask({{"request", "status"}}, status_ms_max);
    if (status) out.push_back(std::move(*status));
    else if (!client.ended()) out.push_back(std::move(silent));
  }
  auto records = kept_records();
  if (!records) return std::unexpected(records.error());
  for (KeptRecord& kept : *records) {
    if (!ended_too || !kept.ended) continue;
    std::erase_if(out, [&](const Json& job) { return text_member(job, "job") == kept.id; });  // ended since it was asked
    kept.record["state"] = kept.lost ? "lost" : "ended";
    kept.record["job"] = kept.id;
    out.push_back(std::move(kept.record));
  }
  std::ranges::stable_sort(out, std::greater(), [](const Json& job) { return number_member(job, "started_ns").value_or(UINT64_MAX); });
  return out;
}

std::string number(const Json& job, const char* name) {
  auto value = number_member(job, name);
  return value ? std::to_string(*value) : "-";
}

std::string started(const Json& job) {
  auto seconds = number_member(job, "started_s");
  if (!seconds) return "-";
  const auto time = static_cast<time_t>(*seconds);
  tm local{};
  char text[32] = "";
  ::localtime_r(&time, &local);
  ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string command(const Json& job) {
  auto words = job.find("command");
  std::string out;
  if (words == job.end() || !words->is_array()) return "-";
  for (const Json& word : *words) {
    if (!word.is_string()) continue;
    std::string text = word.get<std::string>();
    // One line a job.
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    if (!out.empty()) out += ' ';
    out += text;
  }
  return out;
}

void print_table(const std::vector<Json>& jobs, bool exits) {
  using Row = std::vector<std::string>;
  std::vector<Row> rows = {{"JOB", "STARTED", "STATE", "RANKS", "NODES", "RESTARTS", "OUTPUT", "COMMAND"}};
  const bool loggers = std::ranges::any_of(jobs, [](const Json& job) { return number_member(job, "event_loggers").value_or(0) > 0; });
  if (loggers) rows[0].insert(rows[0].begin() + 5, "LOGGERS");
  if (exits) rows[0].insert(rows[0].begin() + 3, "EXIT");
  for (const Json& job : jobs) {
    Row row = {text_member(job, "job").value_or("-"), started(job), text_member(job, "state").value_or("-"), number(job, "ranks"),
               number(job, "nodes"), number(job, "restarts"), text_member(job, "output").value_or("-"), command(job)};
    if (loggers) row.insert(row.begin() + 5, number(job, "event_loggers"));
    if (exits) row.insert(row.begin() + 3, number(job, "exit_code"));
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) os::print_output("{:<{}}  ", row[i], widths[i]);
    os::print_output("{}\n", row.back());
  }
}

// A job is asked to end, and has ended when it closes the connection.
Result<> end_job(const std::string& name, bool now) {
  Result<ChosenJob> job = choose_running(name);
  if (!job) return std::unexpected(job.error());
  JobClient& client = *job->client;
  Result<Json> asked = client.ask({{"request", "kill"}, {"now", now}});
  const Instant limit = os::later(os::now(), end_ms_max * os::millisecond_ns);
  while (asked && !client.ended()) {
    if (os::now() >= limit) return fail(fmt::format("job {} does not end", job->id));
    pollfd wait{client.fd(), POLLIN, 0};
    ::poll(&wait, 1, 100);
    if (auto line = client.next(); !line) return std::unexpected(line.error());
  }
  if (!asked && !client.ended()) return fail(fmt::format("job {}: {}", job->id, asked.error().text));
  return {};
}

}  // namespace

int ps_main(const std::vector<std::string>& arguments) {
  CLI::App app("Lists your jobs: those that run and, with -a, those of --detach that have ended.", "holdfast ps");
  bool all = false, json = false, clear = false;
  app.add_flag("-a,--all", all, "also those that have ended");
  app.add_flag("--json", json, "as a JSON array");
  app.add_flag("--clear", clear, "remove what is kept of jobs that have ended");
  if (auto code = parse_client(app, arguments)) return *code;
  if (clear) {
    auto cleared = clear_ended(0);
    if (!cleared) return complain(app, cleared.error().text);
    os::print_output("{} ended job{} cleared\n", *cleared, *cleared == 1 ? "" : "s");
    return 0;
  }
  auto jobs = all_jobs(all);
  if (!jobs) return complain(app, jobs.error().text);
  if (json) os::print_output("{}\n", Json(*jobs).dump(1, ' ', false, Json::error_handler_t::replace));
  else print_table(*jobs, all);
  return 0;
}

int kill_main(const std::vector<std::string>& arguments) {
  CLI::App app("Ends jobs as Ctrl-C does: their ranks get SIGTERM, and SIGKILL two seconds later.", "holdfast kill");
  std::vector<std::string> names;
  bool now = false;
  app.add_option("JOB", names, "its id, or the beginning of it; none: the only one that runs");
  app.add_flag("--now", now, "SIGKILL at once");
  if (auto code = parse_client(app, arguments)) return *code;
  if (names.empty()) names.emplace_back();
  int code = 0;
  for (const std::string& name : names) {
    if (Result<> ended = end_job(name, now); !ended) code = complain(app, ended.error().text);
  }
  return code;
}

}  // namespace hf::daemon
