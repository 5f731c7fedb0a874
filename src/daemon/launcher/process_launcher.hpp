// What all launchers have in common that start one process of this machine for each agent.
#pragma once
#include <map>

#include "daemon/launcher/launcher.hpp"
#include "os/process.hpp"

namespace hf::daemon {

class ProcessLauncher : public Launcher {
 public:
  using OnLine = std::function<void(const std::string& host, const std::string& line)>;
  ProcessLauncher(os::EventLoop& loop, OnLine on_line) : loop_(loop), on_line_(std::move(on_line)) {}
  ~ProcessLauncher() override;
  Result<> start(int number, const std::string& host, const AgentTicket& ticket) override;
  std::optional<Ended> on_child_ended(pid_t process, int status) override;
  void end_all() override;
  void settle() override;

 protected:
  struct Way {
    os::Command command;  // arguments, environment and directory
    bool remote = true;   // its stderr is passed on with the host's name, and settle() waits for it
  };
  virtual Result<Way> way_to(const std::string& host) const = 0;
  // `words`: the last lines on stderr.
  virtual std::string why_ended(const std::string& host, int status, const std::vector<std::string>& words) const = 0;
  virtual int end_signal() const;

 private:
  struct Agent {
    int number = 0;
    std::string host;
    bool remote = false;
    os::UniqueFd input;  // kept open: its end tells the agent that the head is gone
    os::UniqueFd error;
    std::string open_line;
    std::vector<std::string> words;
  };
  void on_error(pid_t process);
  void close_error(Agent& agent);
  void pass_lines(Agent& agent, bool all);

  static constexpr std::size_t words_max = 20;
  os::EventLoop& loop_;
  OnLine on_line_;
  std::map<pid_t, Agent> agents_;
};

std::string own_path();  // of this program
std::vector<std::string> own_environment();
os::Command local_agent_command();
// For any launcher: what an agent's own exit code says.
std::optional<std::string> why_not_joined(const std::string& host, int status);

}  // namespace hf::daemon
