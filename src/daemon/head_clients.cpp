// What the head tells other commands of the user about its job, and lets them do (docs/clients.md).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/head.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

int restarts(const Timeline& timeline) {
  int out = 0;
  for (const RankRecord& rank : timeline.ranks()) {
    const auto started = std::ranges::count_if(rank.incarnations, [](const IncarnationRecord& one) { return one.started_ns != 0; });
    out += std::max(0, static_cast<int>(started) - 1);
  }
  return out;
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

// A job that cannot be found by others runs all the same.
void Head::open_door() {
  clients_ = std::make_unique<JobClients>(
      loop_, [this](const std::string& line) { output_.say(line); },
      JobClients::Owner{[this] { return status(); }, [this](bool now) { interrupt(SIGTERM, now); }});
  clients_->door().serve("watch", [this](ClientId, const Json& request) {
    return watching_.answer(request, {{"job", clients_->id()}, {"command", command_of(job_)}});
  });
  Result<JobSocket> socket = JobSocket::make([](const std::string&) { return false; });
  if (!socket) return output_.say(fmt::format("holdfast ps will not show this job: {}", socket.error().text));
  clients_->open(std::move(*socket));
}

Json Head::status() const {
  const bool starting = std::ranges::any_of(timeline_.ranks(), [](const RankRecord& rank) { return rank.incarnations.empty(); });
  int lost = 0;
  for (int node = 0; node < job_.agent_count(); ++node) lost += states_[static_cast<std::size_t>(node)].gone;
  return {{"command", command_of(job_)},
          {"started_s", static_cast<std::uint64_t>(job_.started_ns / os::second_ns)},
          {"state", ending_ ? "ending" : starting ? "starting" : "running"},
          {"ranks", job_.rank_count()},
          {"ranks_over", ranks_over_},
          {"nodes", job_.node_count},
          {"spare_nodes", job_.spare_count},
          {"nodes_lost", ending_ ? 0 : lost},
          {"restarts", restarts(timeline_)},
          {"head", ::getpid()}};
}

}  // namespace hf::daemon
