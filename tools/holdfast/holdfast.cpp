// The `holdfast` command. As mpirun and mpiexec it is `holdfast run`.
#include <fcntl.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/agent.hpp"
#include "daemon/client_commands.hpp"
#include "daemon/exec.hpp"
#include "daemon/head.hpp"
#include "daemon/watch/saved_report.hpp"
#include "daemon/watch/top_command.hpp"

namespace {

// Otherwise a socket or pipe of ours would become the 0, 1 or 2 that was closed.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int count, char** values) {
  open_standard_descriptors();
  std::vector<std::string> arguments(values + 1, values + count);
  std::string_view name = count > 0 ? values[0] : "holdfast";
  name = name.substr(name.rfind('/') + 1);
  if (name.starts_with("mpirun") || name.starts_with("mpiexec")) return hf::daemon::run_main(arguments);
  std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "run") return hf::daemon::run_main({arguments.begin() + 1, arguments.end()});
  if (command == "top") return hf::daemon::top_main({arguments.begin() + 1, arguments.end()});
  if (command == "report") return hf::daemon::report_main({arguments.begin() + 1, arguments.end()});
  if (command == "exec") return hf::daemon::exec_main({arguments.begin() + 1, arguments.end()});
  if (command == "ps") return hf::daemon::ps_main({arguments.begin() + 1, arguments.end()});
  if (command == "attach") return hf::daemon::attach_main({arguments.begin() + 1, arguments.end()});
  if (command == "logs") return hf::daemon::logs_main({arguments.begin() + 1, arguments.end()});
  if (command == "kill") return hf::daemon::kill_main({arguments.begin() + 1, arguments.end()});
  if (command == "agent") return hf::daemon::agent_main({arguments.begin() + 1, arguments.end()});
  if (command == "--version" || command == "-V") return hf::daemon::run_main({"--version"});
  if (command == "--help" || command == "-h") {
    fmt::print(
        "holdfast run [options] program [arguments] [: [options] program ...]\n"
        "holdfast run --help   options\n"
        "srun --mpi=pmi2 -n 4 holdfast exec [options] program [arguments]   in Slurm, without holdfast run\n"
        "holdfast ps [-a]        your jobs: those that run, and with -a those of --detach that have ended\n"
        "holdfast attach [JOB]   output and input of a job of holdfast run --detach\n"
        "holdfast logs [JOB]     its output, also when it has ended\n"
        "holdfast kill [JOB]     ends a job\n"
        "holdfast top [JOB]      the ranks of a running job, live\n"
        "holdfast report FILE    what a report of holdfast run --report says\n"
        "holdfast --version\n");
    return 0;
  }
  fmt::print(stderr, "holdfast: {} (holdfast run -n 4 ./program)\n",
             command.empty() ? "which command?" : fmt::format("unknown command {}", command));
  return 2;
}
