#include "daemon/launcher/process_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "os/clock.hpp"
#include "os/pipe.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t settle_ms = 3000, settle_step_ms = 5;

}  // namespace

ProcessLauncher::~ProcessLauncher() {
  for (auto& [process, agent] : agents_) close_error(agent);
}

Result<> ProcessLauncher::start(int number, const std::string& host, const AgentTicket& ticket) {
  Result<Way> way = way_to(host);
  if (!way) return std::unexpected(way.error());
  Result<os::Pipe> input = os::make_pipe();
  if (!input) return std::unexpected(input.error());
  // Less than PIPE_BUF into an empty pipe: never waits, never short.
  static_assert(sizeof ticket < PIPE_BUF);
  if (::write(input->write.get(), &ticket, sizeof ticket) != sizeof ticket) return fail("cannot write to a pipe");
  os::Command& command = way->command;
  command.input = input->read.get();
  Result<os::Pipe> error = os::Pipe{};
  if (way->remote) {
    error = os::make_pipe();
    if (!error) return std::unexpected(error.error());
    command.output = command.error = error->write.get();
  }
  std::expected<pid_t, os::StartError> process = os::start_process(command);
  if (!process) return fail(process.error().text);
  Agent& agent = agents_[*process];
  agent = {number, host, way->remote, std::move(input->write), std::move(error->read), {}, {}};
  if (agent.error) {
    os::set_non_blocking(agent.error.get());
    loop_.add(agent.error.get(), EPOLLIN, [this, pid = *process](std::uint32_t) { on_error(pid); });
  }
  return {};
}

void ProcessLauncher::on_error(pid_t process) {
  Agent& agent = agents_[process];
  char text[4096];
  ssize_t n;
  while ((n = ::read(agent.error.get(), text, sizeof text)) > 0) {
    agent.open_line.append(text, static_cast<std::size_t>(n));
    pass_lines(agent, false);
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  pass_lines(agent, true);
  close_error(agent);
}

void ProcessLauncher::pass_lines(Agent& agent, bool all) {
  auto pass = [&](std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) return;
    on_line_(agent.host, line);
    if (agent.words.size() == words_max) agent.words.erase(agent.words.begin());
    agent.words.push_back(std::move(line));
  };
  for (std::size_t end; (end = agent.open_line.find('\n')) != std::string::npos;) {
    pass(agent.open_line.substr(0, end));
    agent.open_line.erase(0, end + 1);
  }
  if (all) pass(std::exchange(agent.open_line, {}));
}

void ProcessLauncher::close_error(Agent& agent) {
  if (!agent.error) return;
  loop_.remove(agent.error.get());
  agent.error.reset();
}

std::optional<Launcher::Ended> ProcessLauncher::on_child_ended(pid_t process, int status) {
  auto found = agents_.find(process);
  if (found == agents_.end()) return std::nullopt;
  Agent& agent = found->second;
  if (agent.error) on_error(process);
  Ended out{agent.number, {}};
  if (auto why = why_not_joined(agent.host, status)) {
    out.why = *why;
  } else {
    out.why = why_ended(agent.host, status, agent.words);
  }
  close_error(agent);
  agents_.erase(found);
  return out;
}

int ProcessLauncher::end_signal() const {
  return SIGKILL;
}

void ProcessLauncher::end_all() {
  for (auto& [process, agent] : agents_) {
    agent.input.reset();
    ::kill(process, end_signal());
  }
}

void ProcessLauncher::settle() {
  for (auto& [process, agent] : agents_) agent.input.reset();
  const Instant limit = os::later(os::now(), settle_ms * os::millisecond_ns);
  for (;;) {
    bool waiting = false;
    for (auto it = agents_.begin(); it != agents_.end();) {
      auto here = it++;
      int status = 0;
      if (!here->second.remote) continue;
      if (::waitpid(here->first, &status, WNOHANG) == here->first) {
        on_child_ended(here->first, status);
      } else {
        waiting = true;
      }
    }
    if (!waiting || os::now() >= limit) return;
    ::poll(nullptr, 0, static_cast<int>(settle_step_ms));
  }
}

std::string own_path() {
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "holdfast";
}

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  return out;
}

os::Command local_agent_command() {
  os::Command command;
  command.path = "/proc/self/exe";
  command.arguments = {"holdfast", "agent"};
  command.environment = own_environment();
  return command;
}

std::optional<std::string> why_not_joined(const std::string& host, int status) {
  if (!WIFEXITED(status)) return std::nullopt;
  if (WEXITSTATUS(status) == exit_other_build) {
    return fmt::format("host {}: holdfast there is of another build than here: install this one, or name the right one with --remote-path",
                       host);
  }
  if (WEXITSTATUS(status) == exit_head_not_reached) {
    return fmt::format("host {}: its agent could not connect to this machine: name an address that it reaches with --head-address, "
                       "or open the firewall",
                       host);
  }
  return std::nullopt;
}

bool is_this_machine(const std::string& host) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return host == "localhost" || host == "127.0.0.1" || (*name && host == name);
}

bool on_this_machine(const LaunchOptions& options, const std::vector<std::string>& hosts) {
  if (options.kind == LaunchOptions::Kind::given) return options.one_machine;
  if (options.kind == LaunchOptions::Kind::local) return true;
  if (options.kind == LaunchOptions::Kind::slurm || options.everywhere) return false;
  for (const std::string& host : hosts) {
    if (!is_this_machine(host)) return false;
  }
  return true;
}

}  // namespace hf::daemon
