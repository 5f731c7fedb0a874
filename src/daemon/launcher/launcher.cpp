#include "daemon/launcher/launcher.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "daemon/launcher/process_launcher.hpp"
#include "daemon/launcher/remote_words.hpp"

namespace hf::daemon {
namespace {

class LocalLauncher final : public ProcessLauncher {
 public:
  using ProcessLauncher::ProcessLauncher;

 private:
  Result<Way> way_to(const std::string&) const override { return Way{local_agent_command(), false}; }
  std::string why_ended(const std::string& host, int status, const std::vector<std::string>&) const override {
    return why_local_agent_ended(host, status);
  }
};

class RemoteLauncher : public ProcessLauncher {
 public:
  RemoteLauncher(os::EventLoop& loop, const LaunchOptions& options, OnLine on_line, const char* tool)
      : ProcessLauncher(loop, std::move(on_line)), options_(options), tool_(tool) {
    if (options_.command.empty()) options_.command = {tool};
    if (options_.remote_path.empty()) options_.remote_path = own_path();
  }

 protected:
  Result<Way> way_by(std::vector<std::string> more) const {
    os::Command command;
    auto found = os::find_program(options_.command[0], "", std::getenv("PATH"));
    if (!found) return fail(fmt::format("{} (agents are started with {})", found.error().text, tool_));
    command.path = *found;
    command.arguments = options_.command;
    std::ranges::move(more, std::back_inserter(command.arguments));
    command.environment = own_environment();
    return Way{std::move(command), true};
  }
  LaunchOptions options_;

 private:
  const char* tool_;
};

class SshLauncher final : public RemoteLauncher {
 public:
  SshLauncher(os::EventLoop& loop, const LaunchOptions& options, OnLine on_line)
      : RemoteLauncher(loop, options, std::move(on_line), "ssh") {}

 private:
  Result<Way> way_to(const std::string& host) const override {
    if (!options_.everywhere && is_this_machine(host)) return Way{local_agent_command(), false};
    return way_by(ssh_arguments(host, options_.remote_path));
  }
  std::string why_ended(const std::string& host, int status, const std::vector<std::string>& words) const override {
    if (!options_.everywhere && is_this_machine(host)) return why_local_agent_ended(host, status);
    return why_ssh_ended(host, status, words, options_.remote_path);
  }
};

class SlurmLauncher final : public RemoteLauncher {
 public:
  SlurmLauncher(os::EventLoop& loop, const LaunchOptions& options, OnLine on_line)
      : RemoteLauncher(loop, options, std::move(on_line), "srun") {}

 private:
  Result<Way> way_to(const std::string& host) const override { return way_by(srun_arguments(host, options_.remote_path)); }
  std::string why_ended(const std::string& host, int status, const std::vector<std::string>& words) const override {
    return why_srun_ended(host, status, words, options_.remote_path);
  }
  // On which srun ends its step; killed, it would leave that to Slurm's time limits.
  int end_signal() const override { return SIGTERM; }
};

}  // namespace

std::unique_ptr<Launcher> make_launcher(os::EventLoop& loop, const LaunchOptions& options,
                                        std::function<void(const std::string& host, const std::string& line)> on_line) {
  switch (options.kind) {
    case LaunchOptions::Kind::local:
      return std::make_unique<LocalLauncher>(loop, std::move(on_line));
    case LaunchOptions::Kind::ssh:
      return std::make_unique<SshLauncher>(loop, options, std::move(on_line));
    case LaunchOptions::Kind::slurm:
      return std::make_unique<SlurmLauncher>(loop, options, std::move(on_line));
    case LaunchOptions::Kind::given:
      return options.make(loop);
  }
  return nullptr;
}

}  // namespace hf::daemon
