// One rank of this node, over its incarnations: its processes, what is known of the present incarnation, its output.
#pragma once
#include <sched.h>
#include <sys/types.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_logger/sender.hpp"
#include "daemon/crash_rule.hpp"
#include "daemon/output_tail.hpp"
#include "daemon/rank_stdio.hpp"
#include "daemon/stream_dependencies.hpp"
#include "os/event_loop.hpp"
#include "os/process.hpp"
#include "os/unique_fd.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

// Why a rank ends the job.
struct RankFailure {
  int exit_code = 1;
  std::string text;
};

struct LocalRank {
  LocalRank(int rank, int restarts_max) : rank(rank), crash_rule(restarts_max) {}

  enum class State {
    idle,  // not yet started
    running,
    ending,  // something of the incarnation has died; the rest is being killed
    over,    // will not be started again
    orphaned,  // has ended, and waits for the head's answer to be started anew
  };

  int rank;
  std::uint32_t term = 0, log_base = 0;  // of this hosting
  State state = State::idle;
  std::uint32_t incarnation = 0;
  CrashRule crash_rule;
  std::optional<cpu_set_t> processors;  // that it is bound to
  os::UniqueFd doorbell;  // one for all incarnations: peers keep it

  // The incarnation: a process group, whose leader the agent started, and the process in it, or below it, that called
  // MPI_Init.
  pid_t leader = 0;
  std::optional<os::StartingProcess> starting;  // the leader, until it is known to have been executed
  std::optional<int> leader_status;  // wait status, once dead
  pid_t mpi_process = 0;             // 0: none has called MPI_Init
  os::UniqueFd mpi_pidfd;            // only when it is not the leader; closed once its death was seen
  std::optional<int> mpi_status;
  bool initialized = false, finalized = false;
  bool exhausted_told = false;
  bool unprotected = false;        // nobody keeps a log for it any more, or it cannot be repeated
  wire::UnprotectReason unprotected_by = wire::UnprotectReason::log_full;
  bool kill_when_started = false;  // an injected kill came while it was not running
  bool preloaded = false;          // its leader was given the recorder

  std::string foreign_library;  // another MPI that it has loaded
  os::EventLoop::TimerId library_check = 0;
  int library_checks = 0;

  std::unique_ptr<OutputPipe> output, error;
  // What was sent of both last, where another head may have to hear it again.
  std::optional<OutputTail> output_tail, error_tail;
  // What was read after the program below a wrapper had died: perhaps the wrapper's words about that death. Dropped when
  // another incarnation is started, which writes again what was the program's; passed on otherwise.
  std::vector<std::pair<OutputStream, std::vector<std::byte>>> held_output;
  std::unique_ptr<InputFeeder> input;  // rank 0 only
  // Level `node`: what was read while events written before it were not stable yet, and the end of the rank behind it.
  struct UnstableOutput {
    core::event_logger::Sender::Extent needs;
    std::vector<core::vprotocol::Dependency> depends;  // protocol optimist: on what of other ranks, and was not stable then
    OutputStream stream{};
    std::vector<std::byte> bytes;
    std::optional<RankFailure> failure;  // not output: the job ends by it
  };
  std::deque<UnstableOutput> unstable_output;
  bool exit_untold = false, failure_untold = false;
  // Protocol optimist.
  StreamDependencies depends;                // on what the rank depends, as its event stream says
  std::optional<std::uint64_t> rolled_to;    // it is an orphan: where its events are cut, as the head was told
  std::optional<RollBack> roll_back;         // the head's answer

  bool alive() const { return state == State::running || state == State::ending; }
  // Everything of the incarnation has ended. Children must have been reaped.
  bool all_dead() const;
  // The process that called MPI_Init was below a wrapper and has died, seen or not yet seen by the loop.
  bool wrapped_program_dead() const;
  void kill_all(int signal) const;
  // How the incarnation ended: the status of the process that counts.
  int end_status() const;
};

}  // namespace hf::daemon
