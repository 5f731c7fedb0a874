// The `holdfast` command. As mpirun and mpiexec it is `holdfast run`.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agent.hpp"
#include "daemon/client_commands.hpp"
#include "daemon/exec.hpp"
#include "daemon/head.hpp"
#include "daemon/watch/saved_report.hpp"
#include "daemon/watch/top_command.hpp"
#include "os/print.hpp"

namespace hf {
namespace {

using Words = std::vector<std::string>;

// Otherwise a socket or pipe of ours would become the 0, 1 or 2 that was closed.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

constexpr std::string_view help =
    "holdfast run [options] program [arguments] [: [options] program ...]\n"
    "holdfast run --help   options\n"
    "srun --mpi=pmi2 -n 4 holdfast exec [options] program [arguments]   in Slurm, without holdfast run\n"
    "holdfast ps [-a]        your jobs: those that run, and with -a those of --detach that have ended\n"
    "holdfast attach [JOB]   output and input of a job of holdfast run --detach\n"
    "holdfast logs [JOB]     its output, also when it has ended\n"
    "holdfast kill [JOB]     ends a job\n"
    "holdfast top [JOB]      the ranks of a running job, live\n"
    "holdfast report FILE    what a report of holdfast run --report says\n"
    "holdfast help           this\n"
    "holdfast --version\n";

int print_help(const Words&) {
  os::write_output(help);
  return 0;
}

int print_version(const Words&) { return daemon::run_main({"--version"}); }

struct Command {
  std::string_view name;
  int (*run)(const Words& arguments);
};
constexpr Command commands[] = {{"run", daemon::run_main},       {"exec", daemon::exec_main}, {"ps", daemon::ps_main},
                                {"attach", daemon::attach_main}, {"logs", daemon::logs_main}, {"kill", daemon::kill_main},
                                {"top", daemon::top_main},       {"report", daemon::report_main}, {"agent", daemon::agent_main},
                                {"help", print_help},            {"--help", print_help},      {"-h", print_help},
                                {"--version", print_version},    {"-V", print_version}};

int run_command(std::string_view name, const Words& words) {
  if (name.starts_with("mpirun") || name.starts_with("mpiexec")) return daemon::run_main(words);
  const std::string command = words.empty() ? "" : words[0];
  const auto* found = std::ranges::find(commands, command, &Command::name);
  if (found != std::end(commands)) return found->run({words.begin() + 1, words.end()});
  os::print_error("holdfast: {} (holdfast run -n 4 ./program)\n", command.empty() ? "which command?" : fmt::format("unknown command {}", command));
  return 2;
}

}  // namespace
}  // namespace hf

int main(int count, char** values) {
  hf::open_standard_descriptors();
  std::string_view name = count > 0 ? values[0] : "holdfast";
  name = name.substr(name.rfind('/') + 1);
  return hf::os::finish_output("holdfast", hf::run_command(name, {values + 1, values + count}));
}
