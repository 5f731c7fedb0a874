// What the head tells other commands of the user about its job, and lets them do (docs/clients.md).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/head.hpp"
#include "daemon/report.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

int restarts(const Timeline& timeline) {
  std::uint64_t out = 0;
  for (const RankRecord& rank : timeline.ranks()) out += restarts_of(rank);
  return static_cast<int>(out);
}

// All programs, as they were typed.
Json command_of(const Job& job) {
  Json out = Json::array();
  for (const Program& program : job.programs) {
    if (!out.empty()) out.push_back(":");
    for (const std::string& word : program.arguments) out.push_back(word);
  }
  return out;
}

}  // namespace

void Head::open_door() {
  clients_ = std::make_unique<JobClients>(loop_, [this](const std::string& line) { output_.say(line); },
                                          JobClients::Owner{[this] { return status(); }, [this](bool now) { interrupt(SIGTERM, now); },
                                                            [this](Bytes bytes) { give_input(bytes); },
                                                            [this](bool terminal, bool input) { on_attached(terminal, input); }});
  clients_->door().serve("watch", [this](ClientId, const Json& request) {
    return watching_.answer(request, {{"job", clients_->id()}, {"command", command_of(job_)}});
  });
  if (background_) {
    clients_->open(background_->take_socket());
    clients_->keep_output(background_->job().path(), facts_->read);
    background_->start(loop_, [this] { clients_->on_output(); });
    if (facts_->written) return;  // by a head before this one, when the job had ended
    if (Result<> written = background_->job().write_record(record()); !written) output_.say(written.error().text);
    return;
  }
  // A job that cannot be found by others runs all the same.
  Result<JobSocket> socket = JobSocket::make(is_kept);
  if (!socket) return output_.say(fmt::format("holdfast ps will not show this job: {}", socket.error().text));
  clients_->open(std::move(*socket));
}

void Head::on_attached(bool terminal, bool input) {
  output_.set_answered(input && !input_kept_.ended());
  for (OutputStream stream : {OutputStream::out, OutputStream::error}) output_.set_terminal(stream, terminal);
}

bool Head::all_started() const {
  return std::ranges::all_of(timeline_.ranks(), [](const RankRecord& rank) {
    return std::ranges::any_of(rank.incarnations, &IncarnationRecord::started_ns);
  });
}

void Head::start_input() {
  if (background_) clients_->input().open();
  else input_.start();
}

void Head::on_input_taken(std::uint64_t bytes) {
  input_.on_taken(bytes);
  clients_->input().on_taken(bytes);
}

// What ps says of a job without a terminal when its head can no more be asked.
Json Head::record() const {
  Json out = status();
  out["job"] = clients_->id();
  out["host"] = host_name();
  return out;
}

void Head::keep_end() {
  if (!background_) return;
  background_->take_stray_output();
  write(background_->job().path() + "/report.json", report_json(timeline_, job_, options_.tree), Asked::no);
  Json out = record();
  out["state"] = "ended";
  out["exit_code"] = exit_code_.value_or(1);
  out["ended_s"] = static_cast<std::uint64_t>(os::real_time_ns() / os::second_ns);
  if (Result<> written = background_->job().write_record(out); !written) output_.say(written.error().text);
}

Json Head::status() const {
  int lost = 0;
  for (int node = 0; node < job_.agent_count(); ++node) lost += states_[static_cast<std::size_t>(node)].gone;
  return {{"command", command_of(job_)},
          {"started_s", static_cast<std::uint64_t>(job_.started_ns / os::second_ns)},
          {"started_ns", static_cast<std::uint64_t>(job_.started_ns)},
          {"state", ending_ ? "ending" : all_started() || epoch_ > 0 ? "running" : "starting"},
          {"ranks", job_.rank_count()},
          {"ranks_over", ranks_over_},
          {"nodes", job_.node_count},
          {"spare_nodes", job_.spare_count},
          {"event_loggers", job_.event_logger_count},
          {"nodes_lost", ending_ ? 0 : lost},
          {"restarts", restarts(timeline_)},
          {"output", background_ ? "kept" : "terminal"},
          {"head", ::getpid()},
          {"keeper", facts_ ? ::getppid() : 0},
          {"heads_lost", epoch_}};
}

}  // namespace hf::daemon
