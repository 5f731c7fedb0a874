#include "daemon/detach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/clients/kept_jobs.hpp"
#include "daemon/head.hpp"
#include "daemon/head_keeper.hpp"
#include "os/pipe.hpp"
#include "os/print.hpp"
#include "os/process.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

int not_detached(const Error& error) {
  os::print_error("holdfast: {}\n", error.text);
  return 1;
}

// Whatever the command was given besides would be kept open as long as the job runs.
void close_other_descriptors() {
  ::close_range(3, ~0u, 0);
}

// Away from the terminal: its end sends no signal here, and it can be closed.
void leave_terminal(int stray) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::close(null);
  ::dup2(stray, STDOUT_FILENO);
  ::dup2(stray, STDERR_FILENO);
}

void print_kept(const KeptJob& job) {
  KeptReader reader(job.directory(), 0);
  for (bool more = true; more;) {
    Result<bool> read = reader.read_some([](KeptStream stream, std::string_view bytes) {
      stream == KeptStream::out ? os::write_output(bytes) : os::write_error(bytes);
    });
    more = read && *read;
  }
}

// True once all ranks have started, false when the head has ended before. Ctrl-C and the like go to it.
bool wait_for_start(int started, pid_t head) {
  Result<os::UniqueFd> signals = os::catch_signals({SIGINT, SIGTERM, SIGHUP});
  pollfd look[] = {{started, POLLIN, 0}, {signals ? signals->get() : -1, POLLIN, 0}};
  for (;;) {
    if (::poll(look, 2, -1) < 0 && errno != EINTR) return false;
    signalfd_siginfo info;
    if (look[1].revents != 0 && ::read(look[1].fd, &info, sizeof info) == sizeof info) ::kill(head, static_cast<int>(info.ssi_signo));
    char byte;
    if (look[0].revents != 0) return ::read(started, &byte, 1) == 1;
  }
}

// The id first: without it the job is hard to find again. Whoever reads neither has it run all the same.
int say_id(const std::string& id) {
  ::signal(SIGPIPE, SIG_IGN);
  os::print_output("{}\n", id);
  const Result<> said = os::flush_output();
  os::print_error("holdfast: {1}job {0} runs in the background (holdfast attach {0}, holdfast logs {0}, holdfast kill {0})\n", id,
                  said ? "" : said.error().text + "; ");
  return said ? 0 : 1;
}

int wait_for_job(const std::string& id, const KeptJob& job, os::UniqueFd started, pid_t head) {
  if (wait_for_start(started.get(), head)) return say_id(id);
  int status = 0;
  while (::waitpid(head, &status, 0) < 0 && errno == EINTR) continue;
  print_kept(job);
  job.remove();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_in_background(RunOptions options) {
  close_other_descriptors();
  if (auto cleared = clear_ended(ended_jobs_max); !cleared) return not_detached(cleared.error());
  Result<JobSocket> socket = JobSocket::make(is_kept);
  if (!socket) return not_detached(socket.error());
  const std::string id = socket->id();
  Result<KeptJob> job = make_kept_job(id);
  if (!job) return not_detached(job.error());
  Result<os::Pipe> started = os::make_pipe(), stray = os::make_pipe();
  if (!started || !stray) return not_detached((started ? stray : started).error());
  Result<HeadSeat> seat = make_head_seat(options.launch, options.hosts);
  Result<> kept = seat ? keep_seat(*seat, options.job.rank_count(), options.job.agent_count()) : std::unexpected(seat.error());
  if (!kept) {
    job->remove();
    return not_detached(kept.error());
  }
  os::set_non_blocking(stray->read.get());
  std::fflush(nullptr);
  const pid_t head = ::fork();
  if (head < 0) {
    job->remove();
    return not_detached({Lost::job, fmt::format("cannot start a process: {}", std::strerror(errno))});
  }
  if (head == 0) {
    started->read.reset();
    leave_terminal(stray->write.get());
    stray->write.reset();
    Background::Descriptors descriptors{std::move(started->write), std::move(stray->read)};
    auto background = std::make_unique<Background>(std::move(*socket), std::move(*job), options.output_limit_bytes, std::move(descriptors));
    return keep_heads(std::move(*seat), [&](HeadSeat taken) { return Head(std::move(options), std::move(taken), std::move(background)).run(); });
  }
  socket->abandon();
  started->write.reset();
  return wait_for_job(id, *job, std::move(started->read), head);
}

}  // namespace hf::daemon
