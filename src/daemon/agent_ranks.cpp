#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/agent.hpp"
#include "daemon/core_map.hpp"
#include "daemon/mpi_library.hpp"
#include "daemon/recorder_preload.hpp"
#include "daemon/unprotected.hpp"
#include "os/addresses.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace hf::daemon {

using State = LocalRank::State;

namespace {

// When a rank that has not called MPI_Init is looked at for another MPI library, in ms after its start.
constexpr int library_checks_ms[] = {20, 60, 200, 500, 1000, 3000, 10000};
constexpr int library_verdict_ms = 500;  // from here on it need not have ended to be judged

}  // namespace

// Event loggers have cores of their own where the machine has enough; what runs there beside them is kept off those.
// Before ranks are bound.
void Agent::divide_cores() {
  std::vector<int> loggers, ranks = ranks_of_machine();
  for (int agent = 0; agent < job_.agent_count(); ++agent) {
    const bool here = machines_[static_cast<std::size_t>(agent)] == machines_[static_cast<std::size_t>(ticket_.node)];
    if (here && job_.is_event_logger(agent)) loggers.push_back(agent);
  }
  if (loggers.empty()) return;
  Result<CoreMap> cores = CoreMap::of_this_machine();
  if (!cores) return note(cores.error().text);
  const auto divided = cores->divide(static_cast<int>(ranks.size()), static_cast<int>(loggers.size()));
  const auto index = std::ranges::find(loggers, ticket_.node) - loggers.begin();
  const bool is_logger = index < std::ssize(loggers);
  if (!divided) {
    if (index == 0 && !ranks.empty()) {
      note(fmt::format("no core of their own for {} event logger{} beside {} rank{}: this machine has {}", loggers.size(),
                       loggers.size() == 1 ? "" : "s", ranks.size(), ranks.size() == 1 ? "" : "s", cores->cores()));
    }
    return;
  }
  const cpu_set_t& mine = is_logger ? divided->event_loggers[static_cast<std::size_t>(index)] : divided->others;
  if (::sched_setaffinity(0, sizeof mine, &mine) != 0) return note(fmt::format("cannot be bound to its cores: {}", std::strerror(errno)));
  if (!is_logger || !job_.report_bindings) return;
  note(fmt::format("event logger on {}: bound to {}", job_.node_name(ticket_.node), cores->describe(mine)));
}

void Agent::start_all() {
  for (auto& rank : ranks_) to_start_.push_back(rank->rank);
  if (Result<> bound = bind_all(); !bound) {
    return event_failed(*ranks_.front(), 1, fmt::format("{}: {}", job_.node_name(ticket_.node), bound.error().text));
  }
  if (job_.recovers() && !ranks_.empty() && !os::can_fix_addresses()) {
    note(fmt::format("{}: the system does not let programs have the same addresses in each run (personality, which containers may forbid): what a "
                     "rank does by addresses may differ after a recovery",
                     job_.node_name(ticket_.node)));
  }
  start_next(0);
}

// One a turn of the loop: others must hear of this agent meanwhile.
void Agent::start_next(std::size_t index) {
  if (ending_ || index >= to_start_.size()) return;
  start(*local(to_start_[index]));
  loop_.at(os::now(), [this, index] { start_next(index + 1); });
}

Result<> Agent::bind_all() {
  if (ranks_.empty() || (job_.bind_to == BindTo::none && !job_.report_bindings)) return {};
  Result<CoreMap> cores = CoreMap::of_this_machine();
  if (!cores) return std::unexpected(cores.error());
  const std::vector<int> neighbours = ranks_of_machine();
  for (auto& rank : ranks_) {
    auto index = std::ranges::find(neighbours, rank->rank) - neighbours.begin();
    if (job_.bind_to != BindTo::none) {
      Result<cpu_set_t> chosen =
          cores->choose(job_.bind_to, static_cast<int>(index), static_cast<int>(neighbours.size()), job_.oversubscribe);
      if (!chosen) return std::unexpected(chosen.error());
      rank->processors = *chosen;
    }
    if (!job_.report_bindings) continue;
    std::string text = fmt::format("rank {} on {}: {} {}", rank->rank, job_.node_name(ticket_.node),
                                   rank->processors ? "bound to" : "not bound, may use",
                                   cores->describe(rank->processors.value_or(cores->all())));
    event(EventKind::note, *rank, {1}, bytes_of(text));
  }
  return {};
}

// What is said of a program is said by the first incarnation of its first rank.
bool Agent::begins_program(const LocalRank& rank) const {
  return rank.incarnation == 0 && (rank.rank == 0 || job_.program_of(rank.rank - 1) != job_.program_of(rank.rank));
}

// The same for each rank of a program and each incarnation: what is said about it is said once.
void Agent::preload_recorder(LocalRank& rank, os::Command& command) {
  const Result<std::string> recorder = recorder_for(command.path);
  rank.preloaded = recorder.has_value();
  if (recorder) return preload(*recorder, command.environment);
  if (begins_program(rank)) event(EventKind::note, rank, {}, bytes_of(recorder.error().text));
}

std::expected<os::StartingProcess, os::StartError> Agent::execute(LocalRank& rank) {
  int index = job_.program_of(rank.rank);
  const Program& program = job_.programs[static_cast<std::size_t>(index)];
  os::Command command;
  command.path = program.path;
  command.arguments = program.arguments;
  command.environment = program.environment;
  auto set = [&](const char* name, auto value) { command.environment.push_back(fmt::format("{}={}", name, value)); };
  set(wire::env_agent, bootstrap_.name());
  set(wire::env_rank, rank.rank);
  set(wire::env_job_started, job_.started_ns);
  for (const char* family : {"OMPI_COMM_WORLD", "PMI"}) {
    set(fmt::format("{}_RANK", family).c_str(), rank.rank);
    set(fmt::format("{}_SIZE", family).c_str(), job_.rank_count());
  }
  const int local_rank = job_.local_rank(rank.rank), local_size = job_.local_size(job_.node_of(rank.rank));
  set("OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
  set("OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
  set("MPI_LOCALRANKID", local_rank);
  set("MPI_LOCALNRANKS", local_size);
  let_find_own_library(command.environment);
  if (job_.records_libc) preload_recorder(rank, command);
  command.working_directory = program.working_directory;
  command.randomize_addresses = false;
  command.parent_death_signal = SIGKILL;
  command.processors = rank.processors;

  auto pipe_failed = [](const Error& error) { return std::unexpected(os::StartError{EMFILE, error.text}); };
  Result<os::UniqueFd> input = rank.input ? rank.input->open() : Result<os::UniqueFd>(os::open_null());
  if (!input) return pipe_failed(input.error());
  Result<os::UniqueFd> output = rank.output->open();
  if (!output) return pipe_failed(output.error());
  Result<os::UniqueFd> error = rank.error->open();
  if (!error) return pipe_failed(error.error());
  command.input = input->get();
  command.output = output->get();
  command.error = error->get();
  return os::StartingProcess::begin(command);
}

void Agent::start(LocalRank& rank) {
  if (Result<> created = segments_->create_incarnation(rank.rank); !created) {
    over(rank);
    return event_failed(rank, 1, created.error().text);
  }
  board_.set_state(rank.rank, rank.incarnation, wire::RankState::running);
  std::expected<os::StartingProcess, os::StartError> starting = execute(rank);
  if (!starting) return on_not_started(rank, starting.error());
  rank.starting = std::move(*starting);
  loop_.add(rank.starting->fd(), EPOLLIN, [this, &rank](std::uint32_t) { on_start_told(rank); });
  rank.leader = rank.starting->pid();
  rank.leader_status.reset();
  rank.mpi_process = 0;
  rank.mpi_pidfd.reset();
  rank.mpi_status.reset();
  rank.initialized = rank.finalized = rank.exhausted_told = false;
  rank.library_checks = 0;
  rank.state = State::running;
  ring_all();
  check_libraries(rank);
}

// It has been executed, or could not be.
void Agent::on_start_told(LocalRank& rank) {
  os::StartError error;
  const auto outcome = rank.starting->outcome(error);
  if (outcome == os::StartingProcess::Outcome::pending) return;
  loop_.remove(rank.starting->fd());
  rank.starting.reset();
  if (outcome == os::StartingProcess::Outcome::failed) return on_not_started(rank, error);
  event(EventKind::started, rank, {static_cast<std::uint64_t>(rank.leader)});
  if (std::exchange(rank.kill_when_started, false)) on_injected_kill(rank.rank);
}

void Agent::on_not_started(LocalRank& rank, const os::StartError& error) {
  over(rank);
  std::string where = job_.node_count > 1 ? fmt::format("{}: ", job_.node_name(ticket_.node)) : "";
  event_failed(rank, error.code == ENOENT ? 127 : 126, where + error.text);
}

void Agent::on_children() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
    LocalRank* owner = nullptr;
    for (auto& rank : ranks_) {
      if (rank->alive() && rank->leader == info.si_pid && !rank->leader_status) owner = rank.get();
    }
    int status = 0;
    if (owner) {
      // Its number stays taken until it is reaped: the rest of its group is killed before.
      status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
      on_leader_death(*owner, status);
    }
    ::waitpid(info.si_pid, &status, 0);
  }
  for (auto& rank : ranks_) {
    if (rank->state == State::ending && rank->all_dead()) conclude(*rank);
  }
  finish_if_over();
}

void Agent::on_leader_death(LocalRank& rank, int status) {
  if (rank.starting) on_start_told(rank);
  if (rank.state == State::over) return;  // it was never executed
  bootstrap_.drain();  // what it told before it died counts
  rank.leader_status = status;
  if (rank.mpi_pidfd && rank.wrapped_program_dead()) on_mpi_process_death(rank);
  kill_rest(rank);
}

void Agent::on_mpi_process_death(LocalRank& rank) {
  bootstrap_.drain();
  // Before Linux 6.15 the status is gone once the wrapper has asked for it: after MPI_Finalize the wrapper's own then says how it ended.
  rank.mpi_status = os::exit_status_of(rank.mpi_pidfd.get(), rank.mpi_process).value_or(rank.finalized ? 0 : SIGKILL);
  loop_.remove(rank.mpi_pidfd.get());
  rank.mpi_pidfd.reset();
  bool clean = WIFEXITED(*rank.mpi_status) && rank.finalized;
  if (clean) {
    pass_held_output(rank);
  } else {
    kill_rest(rank);  // its wrapper must not go on without it
  }
  if (rank.state == State::ending && rank.all_dead()) conclude(rank);
}

void Agent::kill_rest(LocalRank& rank) {
  rank.state = State::ending;
  loop_.cancel(rank.library_check);
  rank.kill_all(SIGKILL);
}

void Agent::conclude(LocalRank& rank) {
  rank.output->drain();
  rank.error->drain();
  if (rank.input) rank.input->close();
  bootstrap_.close_connection(rank.rank);
  if (segment::ControlView control = segments_->control(rank.rank, rank.incarnation);
      control && control.valid(Rank(rank.rank), Incarnation(rank.incarnation))) {
    event(EventKind::counters, rank, {}, std::as_bytes(std::span(&control.header().counters, 1)));
  }
  if (ending_) return over(rank);
  if (rank.rolled_to) return roll_back_if_ended(rank);
  judge(rank, rank.end_status());
}

void Agent::judge(LocalRank& rank, int status) {
  if (WIFSIGNALED(status)) return judge_signal(rank, WTERMSIG(status));
  over(rank);
  int code = WEXITSTATUS(status);
  bool joined = rank.mpi_process != 0;
  if (!joined && !rank.foreign_library.empty()) {
    return event_failed(rank, 1,
                        fmt::format("rank {} uses another MPI library, {}: build the program with Holdfast's mpicc, "
                                    "or let it find Holdfast's libmpi_abi.so.1",
                                    rank.rank, rank.foreign_library));
  }
  if (code != 0) return rank_failed(rank, {code, fmt::format("rank {} exited with code {}", rank.rank, code)});
  if (joined && !rank.finalized) {
    return rank_failed(rank, {1, fmt::format("rank {} exited without calling MPI_Finalize or the last MPI_Session_finalize", rank.rank)});
  }
  board_.set_state(rank.rank, rank.incarnation, wire::RankState::finished);
  ring_all();
  rank.exit_untold = true;
  if (optimist()) return pass_output(rank, OutputStream::out, {});  // an end that is told is for the outside too
  tell_exited(rank);
}

void Agent::judge_signal(LocalRank& rank, int signal) {
  segment::ControlView control = segments_->control(rank.rank, rank.incarnation);
  std::uint64_t call = segment::load_acquire(control.header().call);
  std::string name = os::signal_name(signal);
  auto end = [&](const std::string& text) {
    over(rank);
    event(EventKind::died, rank, {static_cast<std::uint64_t>(signal), call});
    rank_failed(rank, {128 + signal, text});
  };
  if (job_.protocol == wire::Protocol::none) {
    return end(fmt::format("rank {} was killed by {} (protocol none: nothing is recovered)", rank.rank, name));
  }
  if (!job_.recovers()) {
    return end(fmt::format("rank {} was killed by {} (--no-sender-log: nothing is recovered)", rank.rank, name));
  }
  if (rank.mpi_process == 0 && !job_is_mpi_) {
    return end(fmt::format("rank {} was killed by {} before any rank called MPI_Init", rank.rank, name));
  }
  if (rank.unprotected) {
    return end(fmt::format("rank {} was killed by {}, and was unprotected: {}", rank.rank, name,
                           why_unprotected(rank.unprotected_by)));
  }
  switch (rank.crash_rule.on_death(signal, call)) {
    case CrashRule::Verdict::faulty:
      return end(
          fmt::format("rank {} died by {} in or after its MPI call number {} twice running: the program is faulty",
                      rank.rank, name, call));
    case CrashRule::Verdict::too_many:
      return end(fmt::format("rank {} was killed by {} after {} restarts, the limit (--restarts)", rank.rank, name,
                             rank.crash_rule.restarts()));
    case CrashRule::Verdict::restart:
      return restart(rank, signal, call);
  }
}

void Agent::restart(LocalRank& rank, int signal, std::uint64_t call) {
  event(EventKind::died, rank, {static_cast<std::uint64_t>(signal), call});
  board_.set_state(rank.rank, rank.incarnation, wire::RankState::dead);
  ++rank.incarnation;
  drop_output(rank);
  if (!look_at(rank)) start(rank);
}

// What has not left: the next incarnation writes it again.
void Agent::drop_output(LocalRank& rank) {
  if (rank.output_tail) rank.output_tail->restart(), rank.error_tail->restart();
  rank.held_output.clear();
  for (const auto& output : std::exchange(rank.unstable_output, {})) {
    output_unconfirmed_ -= std::min<std::uint64_t>(output.bytes.size(), output_unconfirmed_);
  }
}

void Agent::over(LocalRank& rank) {
  rank.state = State::over;
  pass_held_output(rank);
  loop_.cancel(rank.library_check);
}

void Agent::on_injected_kill(int number) {
  LocalRank* rank = local(number);
  if (!rank || rank->state == State::over || ending_) return;
  if (rank->state != State::running || rank->starting) {
    rank->kill_when_started = true;
    return;
  }
  event(EventKind::injected, *rank, {SIGKILL});
  rank->kill_all(SIGKILL);
}

// It would end those that do not.
void Agent::pass_signal(int signal) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return;
  for (auto& rank : ranks_) {
    if (rank->state != State::running || rank->starting) continue;
    const bool wrapper_alone = rank->mpi_process == 0 || rank->wrapped_program_dead();
    const pid_t process = wrapper_alone ? rank->leader : rank->mpi_process;
    if (os::catches(process, signal)) ::kill(process, signal);
  }
}

void Agent::check_libraries(LocalRank& rank) {
  if (rank.library_checks > 0) {
    if (rank.mpi_process != 0 || rank.state != State::running) return;
    int elapsed_ms = library_checks_ms[rank.library_checks - 1];
    if (auto found = foreign_mpi_of(rank.leader)) rank.foreign_library = *found;
    if (!rank.foreign_library.empty() && elapsed_ms >= library_verdict_ms) {
      return event_failed(rank, 1,
                          fmt::format("rank {} uses another MPI library, {}: build the program with Holdfast's "
                                      "mpicc, or let it find Holdfast's libmpi_abi.so.1",
                                      rank.rank, rank.foreign_library));
    }
  }
  if (rank.library_checks == std::ssize(library_checks_ms)) return;
  int next_ms = library_checks_ms[rank.library_checks] -
                (rank.library_checks > 0 ? library_checks_ms[rank.library_checks - 1] : 0);
  ++rank.library_checks;
  rank.library_check =
      loop_.at(os::later(os::now(), next_ms * os::millisecond_ns), [this, &rank] { check_libraries(rank); });
}

void Agent::on_output(LocalRank& rank, OutputStream stream, Bytes bytes) {
  // Looked at after the bytes were read: what a wrapper writes about the program's death is held, however late the loop
  // comes to see that death. After a clean end, which the loop has seen, the wrapper's words count.
  bool clean = rank.mpi_status && WIFEXITED(*rank.mpi_status) && rank.finalized;
  if (rank.alive() && !clean && rank.wrapped_program_dead()) {
    rank.held_output.emplace_back(stream, std::vector(bytes.begin(), bytes.end()));
    return;
  }
  pass_output(rank, stream, bytes);
}

void Agent::pass_held_output(LocalRank& rank) {
  for (const auto& [stream, bytes] : std::exchange(rank.held_output, {})) pass_output(rank, stream, bytes);
}

// Bytes for the outside leave when the events written before they were read are stable (design rule 3).
void Agent::pass_output(LocalRank& rank, OutputStream stream, Bytes bytes) {
  output_unconfirmed_ += bytes.size();
  if (!output_paused_ && output_unconfirmed_ >= output_window()) pause_output(true);
  if (keeper_ && !ending_) {
    const EventKeeper::Extent needs = written(Rank{rank.rank});
    auto depends = optimist() ? unstable_dependencies(rank) : std::vector<core::vprotocol::Dependency>();
    if (!rank.unstable_output.empty() || !depends.empty() || !keeper_->stable(Rank{rank.rank}).covers(needs)) {
      rank.unstable_output.push_back({needs, std::move(depends), stream, {bytes.begin(), bytes.end()}, {}});
      return keeper_->look(Rank{rank.rank});
    }
  }
  send_output(rank, stream, bytes);
  tell_exited(rank);
}

// What the rank has done ends the job. Under optimist, like its output, once it cannot be rolled back any more.
void Agent::rank_failed(LocalRank& rank, RankFailure failure) {
  if (!optimist() || ending_) return event_failed(rank, failure.exit_code, failure.text);
  rank.failure_untold = true;
  rank.unstable_output.push_back({written(Rank{rank.rank}), unstable_dependencies(rank), {}, {}, std::move(failure)});
  keeper_->look(Rank{rank.rank});
  pass_stable_output(rank);
}

void Agent::pass_stable_output(LocalRank& rank) {
  auto& waiting = rank.unstable_output;
  while (!waiting.empty() && may_leave(rank, waiting.front())) {
    LocalRank::UnstableOutput output = std::move(waiting.front());
    waiting.pop_front();
    pass_unstable(rank, std::move(output));
  }
  tell_exited(rank);
}

void Agent::pass_unstable(LocalRank& rank, LocalRank::UnstableOutput output) {
  send_output(rank, output.stream, output.bytes);
  if (output.failure) event_failed(rank, output.failure->exit_code, output.failure->text);
}

// The job ends, and nothing of it is repeated.
void Agent::pass_all_output(LocalRank& rank) {
  for (auto& output : std::exchange(rank.unstable_output, {})) pass_unstable(rank, std::move(output));
  tell_exited(rank);
}

void Agent::tell_exited(LocalRank& rank) {
  if (rank.unstable_output.empty() && std::exchange(rank.exit_untold, false)) event(EventKind::exited, rank);
}

void Agent::send_output(LocalRank& rank, OutputStream stream, Bytes bytes) {
  if (bytes.empty()) return;
  if (auto& tail = stream == OutputStream::out ? rank.output_tail : rank.error_tail) tail->append(text_of(bytes));
  send_head(ControlKind::output, OutputHead{rank.rank, rank.incarnation, stream}, bytes);
}

void Agent::pause_output(bool paused) {
  output_paused_ = paused;
  for (auto& rank : ranks_) {
    rank->output->pause(paused);
    rank->error->pause(paused);
  }
}

}  // namespace hf::daemon
