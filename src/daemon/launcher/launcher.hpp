// Starts agents on hosts. An agent has a process of this machine that stands for it (itself, an ssh client, an srun): the agent's
// stdin and stderr are that process's, and it ends when the agent does.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/launcher/agent_ticket.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class Launcher {
 public:
  struct Ended {
    int number;
    std::string why;  // one line, for the case that its agent had not joined: what was wrong and what to do
  };
  virtual ~Launcher() = default;
  virtual Result<> start(int number, const std::string& host, const AgentTicket& ticket) = 0;
  // After the last start that the job begins with.
  virtual Result<> started_all() { return {}; }
  // A child of this process has ended and was reaped: the agent for which it stood.
  virtual std::optional<Ended> on_child_ended(pid_t process, int status) = 0;
  virtual void end_all() = 0;  // at once
  // All agents are about to end by themselves: what stands for them may do so too, but not for long.
  virtual void settle() = 0;
};

struct LaunchOptions {
  enum class Kind { local, ssh, slurm, given } kind = Kind::local;
  bool everywhere = false;             // ssh: to this machine too
  std::vector<std::string> command;    // instead of ssh or srun, with arguments; empty: those
  std::string remote_path;             // of holdfast on the hosts; empty: as here
  std::string head_address;            // that agents connect to; empty: found out
  std::function<std::unique_ptr<Launcher>(os::EventLoop&)> make;  // given: this one
  bool one_machine = false;                                       // given: all agents are on this machine
};

// `on_line(host, line)`: a line that ssh, srun or the agent wrote to stderr on its way or over there.
std::unique_ptr<Launcher> make_launcher(os::EventLoop& loop, const LaunchOptions& options,
                                        std::function<void(const std::string& host, const std::string& line)> on_line);

// Whether agents on these hosts need no network: all are processes of this machine.
bool on_this_machine(const LaunchOptions& options, const std::vector<std::string>& hosts);
// "localhost", 127.0.0.1 or this machine's own name.
bool is_this_machine(const std::string& host);

}  // namespace hf::daemon
