#include "os/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/error_text.hpp"
#include "os/interpreter.hpp"

namespace hf::os {
namespace {

std::optional<rlimit> open_files_before;  // it was raised
std::optional<int> nice_before;           // children of a process that runs before others would have none

struct ChildFailure {
  int code;
  int step;  // 0 exec, 1 working directory, 2 other
};

// Runs in the new process, between fork and exec: system calls only.
void become(const Command& command, char* const* arguments, char* const* environment, pid_t parent, int status_pipe) {
  ChildFailure failure{0, 2};
  auto give_up = [&](int step) {
    failure = {errno, step};
    [[maybe_unused]] ssize_t n = ::write(status_pipe, &failure, sizeof failure);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  if (command.parent_death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, command.parent_death_signal);
    if (::getppid() != parent) ::_exit(127);
  }
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Descriptors are moved out of the way first: a wanted one may stand where another must go.
  int wanted[4] = {command.input, command.output, command.error, command.extra};
  for (int& fd : wanted) {
    if (fd >= 0 && (fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 16)) < 0) give_up(2);
  }
  int pipe = ::fcntl(status_pipe, F_DUPFD_CLOEXEC, 16);
  if (pipe < 0) give_up(2);
  status_pipe = pipe;
  for (int i = 0; i < 4; ++i) {
    if (wanted[i] >= 0 && ::dup2(wanted[i], i) < 0) give_up(2);
  }
  int keep = command.extra >= 0 ? 4 : 3;
  ::syscall(SYS_close_range, static_cast<unsigned>(keep), static_cast<unsigned>(status_pipe - 1), 0u);
  ::syscall(SYS_close_range, static_cast<unsigned>(status_pipe + 1), ~0u, 0u);
  if (open_files_before) ::setrlimit(RLIMIT_NOFILE, &*open_files_before);
  if (nice_before) ::setpriority(PRIO_PROCESS, 0, *nice_before);
  if (command.processors && ::sched_setaffinity(0, sizeof *command.processors, &*command.processors) != 0) give_up(2);
  if (!command.working_directory.empty() && ::chdir(command.working_directory.c_str()) != 0) give_up(1);
  if (!command.randomize_addresses) ::personality(ADDR_NO_RANDOMIZE);
  ::execve(command.path.c_str(), arguments, environment);
  give_up(0);
}

// What the system says in a file of a few words; empty when it does not. Not by stdio, which would take memory of the program's heap.
std::string words_of_system(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

// /proc/PID/stat from the third field (state) on; the name before it may hold anything.
std::string stat_fields(pid_t pid) {
  const std::string text = words_of_system(fmt::format("/proc/{}/stat", pid).c_str());
  const char* end = std::strrchr(text.c_str(), ')');
  return end && end[1] ? end + 2 : "";
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

StartError start_error(const std::string& path, const std::string& directory, ChildFailure failure) {
  if (failure.step == 1) return {failure.code, fmt::format("cannot enter the directory {}: {}", directory, error_text(failure.code))};
  if (failure.step == 0 && failure.code == ENOENT) {
    if (const std::string why = why_no_interpreter(path, directory); !why.empty()) return {failure.code, fmt::format("cannot run {}: {}", path, why)};
  }
  return {failure.code, fmt::format("cannot {} {}: {}", failure.step == 0 ? "run" : "prepare", path, error_text(failure.code))};
}

}  // namespace

std::expected<StartingProcess, StartError> StartingProcess::begin(const Command& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return std::unexpected(StartError{errno, fmt::format("cannot make a pipe: {}", error_text(errno))});
  }
  UniqueFd write_end(ends[1]);
  StartingProcess out;
  out.told_.reset(ends[0]);
  out.path_ = command.path;
  out.working_directory_ = command.working_directory;
  std::vector<char*> arguments = pointers(command.arguments), environment = pointers(command.environment);
  pid_t parent = ::getpid();
  out.pid_ = ::fork();
  if (out.pid_ < 0)
    return std::unexpected(StartError{errno, fmt::format("cannot start a process: {}", error_text(errno))});
  if (out.pid_ == 0) become(command, arguments.data(), environment.data(), parent, write_end.get());
  ::setpgid(out.pid_, out.pid_);  // also here: so that the group exists for whoever goes on first
  return out;
}

StartingProcess::Outcome StartingProcess::outcome(StartError& error) {
  pollfd look{told_.get(), POLLIN, 0};
  if (::poll(&look, 1, 0) != 1) return Outcome::pending;
  ChildFailure failure{};
  ssize_t n;
  do {
    n = ::read(told_.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof failure) return Outcome::executed;
  error = start_error(path_, working_directory_, failure);
  return Outcome::failed;
}

std::expected<pid_t, StartError> start_process(const Command& command) {
  auto starting = StartingProcess::begin(command);
  if (!starting) return std::unexpected(starting.error());
  pollfd told{starting->fd(), POLLIN, 0};
  StartError error;
  StartingProcess::Outcome outcome;
  while ((outcome = starting->outcome(error)) == StartingProcess::Outcome::pending) ::poll(&told, 1, -1);
  if (outcome == StartingProcess::Outcome::executed) return starting->pid();
  ::waitpid(starting->pid(), nullptr, 0);
  return std::unexpected(error);
}

Result<std::string> output_of(Command command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", error_text(errno)));
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  command.output = write_end.get();
  auto pid = start_process(command);
  if (!pid) return fail(pid.error().text);
  write_end.reset();
  std::string out;
  char text[4096];
  for (ssize_t n; (n = ::read(read_end.get(), text, sizeof text)) != 0;) {
    if (n > 0) out.append(text, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("it failed");
  return out;
}

Result<UniqueFd> open_pidfd(pid_t pid) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return fail(fmt::format("cannot watch process {}: {}", pid, error_text(errno)));
  return fd;
}

namespace {

// Known once the process has been reaped, by whomever.
std::optional<int> reaped_status(int pidfd) {
  // struct pidfd_info of linux/pidfd.h, which is newer than the headers here.
  struct Info {
    std::uint64_t mask, cgroup_id;
    std::uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    std::int32_t exit_code;
  } info{};
  static_assert(sizeof(Info) == 64);
  constexpr std::uint64_t want_exit = 1u << 3;
  info.mask = want_exit;
  if (::ioctl(pidfd, _IOWR(0xFF, 11, Info), &info) != 0 || !(info.mask & want_exit)) return std::nullopt;
  return info.exit_code;
}

// Known while the process is a zombie: field 52 of its stat line.
std::optional<int> zombie_status(pid_t pid) {
  std::string fields = stat_fields(pid);
  if (fields.size() < 2 || fields[0] != 'Z') return std::nullopt;
  std::size_t last = fields.find_last_not_of(" \n");
  std::size_t space = fields.rfind(' ', last);
  return space == std::string::npos ? std::nullopt : std::optional(std::atoi(fields.c_str() + space));
}

}  // namespace

std::optional<int> exit_status_of(int pidfd, pid_t pid) {
  if (auto status = reaped_status(pidfd)) return status;
  if (auto status = zombie_status(pid)) return status;
  return reaped_status(pidfd);  // reaped between the two
}

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  FILE* file = std::fopen(fmt::format("/proc/self/task/{}/children", ::getpid()).c_str(), "re");
  if (!file) return out;
  int pid;
  while (std::fscanf(file, "%d", &pid) == 1) out.push_back(pid);
  std::fclose(file);
  return out;
}

void end_all_children() {
  for (;;) {
    for (pid_t pid : children()) ::kill(pid, SIGKILL);
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

bool group_exists(pid_t group) {
  return ::kill(-group, 0) == 0 || errno == EPERM;
}

void use_all_cores() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  ::sched_setaffinity(0, sizeof all, &all);
}

bool run_before_others() {
  errno = 0;
  if (const int value = ::getpriority(PRIO_PROCESS, 0); value != -1 || errno == 0) nice_before = value;
  const sched_param least{::sched_get_priority_min(SCHED_RR)};
  // What else the user has given the process stays.
  return ::sched_getscheduler(0) == SCHED_OTHER && ::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) == 0;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int machine_cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

// The fourth field of /proc/loadavg is RUNNING/ALL.
int running_processes() {
  int running = 0;
  return std::sscanf(words_of_system("/proc/loadavg").c_str(), "%*s %*s %*s %d/", &running) == 1 ? running : 0;
}

void move_to_share(int index, int count, int cores) {
  cpu_set_t usable, share;
  CPU_ZERO(&usable);
  CPU_ZERO(&share);
  if (index < 0 || index >= count || ::sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) != cores) return;
  int before = static_cast<int>(std::int64_t{index} * cores / count), core = 0;
  for (; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable) && before-- == 0) break;
  }
  if (core == CPU_SETSIZE || core == ::sched_getcpu()) return;
  CPU_SET(core, &share);
  if (::sched_setaffinity(0, sizeof share, &share) == 0) ::sched_setaffinity(0, sizeof usable, &usable);
}

pid_t parent_of(pid_t pid) {
  int parent = 0;
  return std::sscanf(stat_fields(pid).c_str(), "%*c %d", &parent) == 1 ? parent : 0;
}

// Field 20 of its stat line.
int own_threads() {
  int threads = 0;
  const std::string fields = stat_fields(::getpid());
  return std::sscanf(fields.c_str(), "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &threads) == 1 ? threads : 0;
}

std::string machine_id() {
  std::string text = words_of_system("/proc/sys/kernel/random/boot_id");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::expected<std::string, StartError> find_program(const std::string& name, const std::string& directory,
                                                    const char* path_variable) {
  auto look = [](const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : EACCES;
  };
  if (name.find('/') != std::string::npos) {
    std::string path = name[0] == '/' || directory.empty() ? name : directory + "/" + name;
    int code = look(path);
    if (code == 0) return path;
    if (code == EISDIR)
      return std::unexpected(StartError{EACCES, fmt::format("{} is a directory, not a program", name)});
    if (code == EACCES) return std::unexpected(StartError{EACCES, fmt::format("{} is not executable", name)});
    return std::unexpected(StartError{ENOENT, fmt::format("program {} not found", name)});
  }
  std::string paths = path_variable ? path_variable : "/usr/local/bin:/usr/bin:/bin";
  std::string refused;
  for (std::size_t from = 0; from <= paths.size();) {
    std::size_t to = std::min(paths.find(':', from), paths.size());
    std::string candidate = (to == from ? "." : paths.substr(from, to - from)) + "/" + name;
    int code = look(candidate);
    if (code == 0) return candidate;
    if (code == EACCES && refused.empty()) refused = candidate;
    from = to + 1;
  }
  if (!refused.empty()) return std::unexpected(StartError{EACCES, fmt::format("{} is not executable", refused)});
  bool here = look(directory.empty() ? name : directory + "/" + name) == 0;
  return std::unexpected(StartError{ENOENT, fmt::format("program {} not found in PATH{}", name,
                                                        here ? fmt::format(" (did you mean ./{}?)", name) : "")});
}

Result<UniqueFd> catch_signals(const std::vector<int>& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail("cannot block signals");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail(fmt::format("cannot receive signals: {}", error_text(errno)));
  return fd;
}

Result<UniqueFd> open_null() {
  UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(fmt::format("cannot open /dev/null: {}", error_text(errno)));
  return fd;
}

void raise_open_file_limit() {
  rlimit limit{};
  if (open_files_before || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  open_files_before = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool catches(pid_t process, int signal) {
  const std::string text = words_of_system(fmt::format("/proc/{}/status", process).c_str());
  const char* caught = std::strstr(text.c_str(), "\nSigCgt:");
  return caught && (std::strtoull(caught + std::strlen("\nSigCgt:"), nullptr, 16) >> (signal - 1) & 1) != 0;
}

}  // namespace hf::os
