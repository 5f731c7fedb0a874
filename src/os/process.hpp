// Starting, watching and ending processes.
#pragma once
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

struct Command {
  std::string path;                         // of the executable; no search
  std::vector<std::string> arguments;       // with argv[0]
  std::vector<std::string> environment;     // NAME=value, complete
  std::string working_directory;            // empty: the caller's
  int input = -1, output = -1, error = -1;  // descriptors 0, 1, 2 of the new process; -1: the caller's
  int extra = -1;                           // becomes descriptor 3; -1: none. All others are closed
  bool randomize_addresses = true;
  int parent_death_signal = 0;       // sent to it when the calling thread dies; 0: none
  std::optional<cpu_set_t> processors;  // that it is bound to; none: as the caller
};

// The new process leads a new process group; signal mask and dispositions are the defaults. An error (with `code`) when
// it could not be executed.
struct StartError {
  int code = 0;  // errno
  std::string text;
};
std::expected<pid_t, StartError> start_process(const Command& command);

// The same without waiting: a process that gets no core for a while is not executed for as long.
class StartingProcess {
 public:
  static std::expected<StartingProcess, StartError> begin(const Command& command);
  pid_t pid() const { return pid_; }
  int fd() const { return told_.get(); }  // readable when outcome() is not pending any more
  enum class Outcome { pending, executed, failed };
  Outcome outcome(StartError& error);  // never blocks; `error` when it failed: it is ending then, to be reaped by the caller

 private:
  std::string path_, working_directory_;
  pid_t pid_ = 0;
  UniqueFd told_;
};
// Runs it to its end; what it wrote to stdout. An error when it could not be run or did not exit with 0.
Result<std::string> output_of(Command command);

Result<UniqueFd> open_pidfd(pid_t pid);
// How the process of this pidfd ended, not necessarily our child: a wait status. Empty when the kernel does not tell
// (Linux before 6.15, and its parent has reaped it).
std::optional<int> exit_status_of(int pidfd, pid_t pid);

// Direct children of this process, those inherited as a sub-reaper too.
std::vector<pid_t> children();
// Sends SIGKILL to all children, reaps them, and so on until none is left, also of those inherited meanwhile.
void end_all_children();

// True while the group has a member (a zombie counts).
bool group_exists(pid_t group);
pid_t parent_of(pid_t pid);           // 0 when gone
int own_threads();                    // of this process; 0: unknown
void use_all_cores();                 // that the system lets this process have, whatever it was bound to
int usable_cores();                   // that this process may run on
int machine_cores();                  // that the machine has, whoever may use them
int running_processes();              // of the machine, that run or want to; 0: unknown
// Has this thread go on, for now, on its share of the cores that it may use: of `count` threads that are spread evenly over them,
// that with this index. One that may use other than so many `cores` was bound by somebody, and stays where it is.
void move_to_share(int index, int count, int cores);
// For a process that does little and whose silence would be taken for its death: the calling thread takes a core from any of ordinary
// priority when it is woken. Not its children, nor threads made later. False: the system does not let it.
bool run_before_others();
std::string machine_id();             // the same for all processes on this machine, containers too, until it starts anew
std::string signal_name(int signal);  // "SIGKILL"

// Finds `name` as execvp would; with a slash relative to `directory` (empty: the current one). Error code ENOENT or
// EACCES.
std::expected<std::string, StartError> find_program(const std::string& name, const std::string& directory,
                                                    const char* path_variable);

// Blocks these signals in this thread and gives a descriptor that reads them (signalfd).
Result<UniqueFd> catch_signals(const std::vector<int>& signals);

Result<UniqueFd> open_null();  // /dev/null, for reading
// To what it may be raised to; processes that are started later have what this one had before.
void raise_open_file_limit();

bool catches(pid_t process, int signal);  // it has a handler for it

}  // namespace hf::os
