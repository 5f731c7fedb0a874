#include "daemon/head.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/detach.hpp"
#include "daemon/launcher/process_launcher.hpp"
#include "daemon/paths.hpp"
#include "daemon/report.hpp"
#include "daemon/unprotected.hpp"
#include "daemon/written_file.hpp"
#include "os/clock.hpp"
#include "os/print.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t echo_ns = 300 * os::millisecond_ns;

std::string silence_text(std::uint32_t silent_ms, const core::membership::MembershipOptions& detection) {
  const bool host_answered = silent_ms * os::millisecond_ns >= detection.agent_silence_ns;
  return fmt::format("nothing was heard of it for {} ms ({})", silent_ms, host_answered ? "--agent-timeout: its host answers" : "--node-timeout");
}

// nohup, `trap '' HUP` and a shell's background job in a script have these ignored, and mean it.
std::vector<int> signals_to_catch() {
  std::vector<int> out = {SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2};
  for (int signal : {SIGINT, SIGHUP, SIGTSTP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) out.push_back(signal);
  }
  ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, nobody learns how a child ended
  return out;
}

}  // namespace

Head::Head(RunOptions options, HeadSeat seat, std::unique_ptr<Background> background)
    : options_(std::move(options)),
      job_(options_.job),
      facts_(seat.facts),
      epoch_(seat.epoch),
      background_(std::move(background)),
      output_(
          loop_, job_.rank_count(), options_.label,
          [this](int rank, std::uint64_t bytes) {
            if (AgentState& state = states_[static_cast<std::size_t>(agent_of(rank))]; state.gone) return;
            agents_.send(agent_of(rank), ControlKind::output_taken, OutputTaken{bytes});
          },
          background_ ? background_->sink(KeptStream::out)
                      : std::make_unique<OutputWriter>(loop_, STDOUT_FILENO, [this](const std::string& why) { on_output_broken(why); }),
          background_ ? background_->sink(KeptStream::error) : std::make_unique<OutputWriter>(loop_, STDERR_FILENO, OutputWriter::OnBroken())),
      input_(loop_, [this](Bytes bytes) { give_input(bytes); }),
      agents_(loop_, options_.hosts, options_.launch, options_.tree, std::move(seat),
              {[this] { on_all_joined(); },
               [this](int node, ControlKind kind, Bytes payload) { on_frame(node, kind, payload); },
               [this](int node, std::uint32_t silent_ms) { on_agent_lost(node, silent_ms); }, [this](const std::string& text) { output_.say(text); },
               [this](const std::string& host, const std::string& line) { output_.say(fmt::format("{}: {}", host, line)); }}),
      timeline_(job_.rank_count(), epoch_ > 0 ? Instant(facts_->begun_ns) : os::now()),
      kills_(loop_, job_.injections, job_.rank_count(),
             {[this](int rank) { agents_.send(agent_of(rank), ControlKind::kill_rank, RankOnly{rank}); },
              [this](int node) { return strike(node, 0); }, [this](int node, std::int64_t for_ns) { return strike(node, for_ns); },
              [this](int node, std::int64_t for_ns) { return hold_events(node, for_ns); },
              [this](int node, std::int64_t for_ns) { return disk_fault(node, for_ns); },
              [this] { return agents_with_ranks(); }, [this](const Injection& injection) { return partition(injection); },
              [] { ::raise(SIGKILL); }}),
      watching_(loop_, job_, [this] { agents_.send_all_bytes(ControlKind::ask_sample, {}); }),
      logs_(static_cast<std::size_t>(job_.agent_count())),
      machines_(logs_.size()),
      rank_over_(static_cast<std::size_t>(job_.rank_count())),
      rank_initialized_(static_cast<std::size_t>(job_.rank_count())),
      rank_in_world_(static_cast<std::size_t>(job_.rank_count())),
      hosting_(static_cast<std::size_t>(job_.rank_count())),
      states_(static_cast<std::size_t>(job_.agent_count())),
      rank_unprotected_(static_cast<std::size_t>(job_.rank_count())) {
  groups_ = job_.node_count;
  if (background_) {
    output_.set_answered(false);  // until somebody attaches
  } else {
    output_.set_terminal(OutputStream::out, ::isatty(STDOUT_FILENO) != 0);
    output_.set_terminal(OutputStream::error, ::isatty(STDERR_FILENO) != 0);
  }
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    hosting(rank).agent = hosting(rank).group = job_.node_of(rank);
    if (epoch_ > 0) recall(rank);
    else keep(rank);
  }
  if (facts_) input_kept_ = InputKeeper(agents_.take_input(), facts_->input_bytes, facts_->input_ended);
}

void Head::greet() {
  if (!options_.without_effect.empty()) {
    output_.say(fmt::format("accepted, without effect: {}", fmt::join(options_.without_effect, " ")));
  }
  for (const Injection& injection : job_.injections) {
    if (injection.kind == Injection::Kind::random && !injection.seed_given) {
      output_.say(fmt::format("kill:random uses seed={}", injection.seed));
    }
    if (injection.kind == Injection::Kind::node_random && !injection.seed_given) {
      output_.say(fmt::format("node:random uses seed={}", injection.seed));
    }
    if (injection.kind == Injection::Kind::head_random && !injection.seed_given) {
      output_.say(fmt::format("head:random uses seed={}", injection.seed));
    }
  }
  if (!options_.verbose && job_.node_count == 1 && job_.sender_log && job_.event_logger_count == 0) return;
  std::string what = job_.protocol == wire::Protocol::none
                         ? "protocol none: nothing survives the death of a rank"
                     : !job_.sender_log
                         ? fmt::format("protocol pessimist, log level {}, no sender log: for measurements, nothing survives the death of a "
                                       "rank", job_.log_level_name())
                     : job_.keeps_events()
                         ? fmt::format("protocol {}, log level {}: survives the death of ranks, and of a node{}", job_.protocol_name(),
                                       job_.log_level_name(), job_.spare_count > 0 ? fmt::format(" ({} spare)", job_.spare_count) : "")
                         : fmt::format("protocol {}, log level process: survives the death of ranks, not of a node", job_.protocol_name());
  if (const int loggers = job_.event_logger_count; loggers > 0) what += fmt::format("; {} event logger{}", loggers, loggers == 1 ? "" : "s");
  if (job_.event_copies > 1) what += fmt::format("; {} copies of determinants", job_.event_copies);
  output_.say(fmt::format("{} rank{} on {} node{}, {}", job_.rank_count(), job_.rank_count() == 1 ? "" : "s",
                          job_.node_count, job_.node_count == 1 ? "" : "s", what));
}

// Nobody reads it any more, which the user knows, or it cannot be written.
void Head::on_output_broken(const std::string& why) {
  if (!why.empty()) output_.say(fmt::format("standard output cannot be written: {}; the job ends", why));
  end(why.empty() ? 128 + SIGPIPE : 1, 0);
}

int Head::run() {
  job_.started_ns = epoch_ > 0 ? facts_->started_ns.load() : os::real_time_ns();
  if (facts_ && epoch_ == 0) {
    facts_->started_ns = job_.started_ns;
    facts_->begun_ns = timeline_.start().value;
  }
  // Ranks of an agent that dies become ours, so that they can be ended.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  os::raise_open_file_limit();
  Result<os::UniqueFd> signals = os::catch_signals(signals_to_catch());
  if (!signals) {
    os::print_error("holdfast: {}\n", signals.error().text);
    return 1;
  }
  signals_ = std::move(*signals);
  loop_.add(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signals(); });
  if (epoch_ == 0) greet();
  open_door();
  const Result<> made = make_event_directory();
  Result<> started = !made ? made : epoch_ > 0 ? resume() : agents_.start();
  if (started) started = serve_metrics();
  if (!started && epoch_ > 0 && resuming_) {  // its address is taken: the job goes on without
    output_.say(started.error().text);
    started = {};
  }
  if (!started) {
    output_.say(started.error().text);
    end(made ? 1 : 2, 0);
  }
  loop_.run();
  return finish();
}

Result<> Head::serve_metrics() {
  if (!options_.metrics) return {};
  Result<std::string> taken = watching_.serve_metrics(*options_.metrics);
  if (!taken) {
    return fail(fmt::format("--metrics {}:{}: {}; give another address or port", options_.metrics->host, options_.metrics->port,
                            taken.error().text));
  }
  if (options_.verbose || options_.metrics->port == "0") output_.say(fmt::format("metrics at http://{}/metrics", *taken));
  return {};
}

void Head::on_signals() {
  signalfd_siginfo info;
  bool child = false;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      child = true;
      continue;
    }
    if (signal == SIGUSR1 || signal == SIGUSR2) pass_signal(signal);
    else if (signal == SIGTSTP) stop_here();
    else interrupt(signal, false);
  }
  if (child) on_children();
}

// Ctrl-Z. The ranks have process groups of their own.
void Head::stop_here() {
  const std::int64_t lasts_s = options_.tree.membership.silent_parent_ns / os::second_ns;
  const bool ends = job_.agent_count() > 1 && job_.protocol != wire::Protocol::none;  // as tree_settings has it
  const std::string until = ends ? fmt::format(" for {} s (--cut-off) and end then, unless fg or bg comes before", lasts_s) : "";
  if (::getsid(::getppid()) == ::getsid(0)) os::print_error("holdfast: stopped: the ranks go on{}\n", until);
  // By default, and so not where no shell could let us go on (an orphaned process group).
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

// Before all agents are there no rank runs that could catch it; where a head resumes, they will be there soon.
void Head::pass_signal(int signal) {
  // A signal to all processes of the job comes by the keeper once more.
  if (ending_ || !agents_.all_joined() || (facts_ && os::now().value - passed_at_[signal].value < echo_ns)) return;
  passed_at_[signal] = os::now();
  if (job_.protocol != wire::Protocol::none && !std::exchange(signal_told_, true)) {
    output_.say(fmt::format("{} goes to the ranks that catch it, and not again to one that is recovered: its replay differs if what it sends depends on it",
                            os::signal_name(signal)));
  }
  // Slurm has sent it to its tasks itself: to all agents but the one here, which is our child.
  if (options_.launch.kind == LaunchOptions::Kind::given) agents_.send(0, ControlKind::pass_signal, PassSignal{signal});
  else agents_.send_all(ControlKind::pass_signal, PassSignal{signal});
}

// The second time at once, and whoever does not read our output is not waited for.
void Head::interrupt(int signal, bool now) {
  // As in pass_signal.
  if (facts_ && interrupted_ && !now && os::now().value - interrupted_at_.value < echo_ns) return;
  interrupted_at_ = os::now();
  if (interrupted_) output_.discard();
  end(128 + signal, interrupted_ || now ? 0 : grace_ms);
  interrupted_ = true;
}

void Head::on_children() {
  int status = 0;
  for (pid_t process; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    auto ended = agents_.on_child_ended(process, status);
    if (!ended || states_[static_cast<std::size_t>(ended->number)].gone) continue;
    // What a joined agent had sent before is still in its connection, whose end is seen there; but at the end nobody looks for it.
    if (ending_) on_agent_gone(ended->number);
    if (ending_ || agents_.joined(ended->number)) continue;
    if (!exit_code_) output_.say(ended->why);
    end(1, 0);
  }
  finish_if_over();
}

void Head::on_all_joined() {
  if (resuming_) return resume_when_all_reported();
  if (ending_) return;
  std::vector<std::byte> bytes;
  encode(job_, bytes);
  agents_.send_all_bytes(ControlKind::job, bytes);
}

void Head::on_agent_lost(int node, std::uint32_t silent_ms) {
  if (!agents_.all_joined() && !ending_) {
    output_.say(fmt::format("node {} was lost before all nodes had joined; the job ends", node));
    return end(1, 0);
  }
  const std::string why = !agents_.joined(node) ? "it did not come back to the new head"
                          : silent_ms == 0      ? "its connection ended"
                                                : silence_text(silent_ms, options_.tree.membership);
  if (!resuming_) return lose_agent(node, why);
  states_[static_cast<std::size_t>(node)].lost_early = why;
  resume_when_all_reported();
}

void Head::on_agent_gone(int node) {
  if (std::exchange(states_[static_cast<std::size_t>(node)].gone, true)) return;
  ++nodes_gone_;
  for (int rank : ranks_at(node)) {
    if (!rank_over_[static_cast<std::size_t>(rank)]) output_.on_over(rank, false);
  }
  finish_if_over();
}

void Head::on_frame(int node, ControlKind kind, Bytes payload) {
  AgentState& state = states_[static_cast<std::size_t>(node)];
  if (state.gone) return;  // declared lost: whatever it says comes too late
  switch (kind) {
    case ControlKind::report:
      return on_report(node, payload);
    case ControlKind::output_again:
      return on_output_again(payload);
    case ControlKind::reported:
      return on_reported(node);
    case ControlKind::ready:
      return on_ready(node, payload);
    case ControlKind::look_up:
      return on_look_up(node, payload);
    case ControlKind::output:
      return on_output(payload);
    case ControlKind::input_taken:
      if (OutputTaken taken; read_struct(payload, taken)) {
        input_taken_ += taken.bytes;
        on_input_taken(taken.bytes);
      }
      return;
    case ControlKind::held:
      return on_held(node, payload);
    case ControlKind::holder_lost:
      return on_holder_lost(node, payload);
    case ControlKind::adopted:
      return on_adopted(node, payload);
    case ControlKind::adopt_unfit:
      return on_adopt_unfit(node, payload);
    case ControlKind::adopt_failed:
      return on_adopt_failed(node, payload);
    case ControlKind::disk_failed:
      return on_disk_failed(node, payload);
    case ControlKind::begun:
      return on_begun(node, payload);
    case ControlKind::orphan:
      return on_orphan(node, payload);
    case ControlKind::event:
      return on_event(node, payload);
    case ControlKind::sample:
      return on_sample(node, payload);
    case ControlKind::gone:
      return on_agent_gone(node);
    default:
      return;
  }
}

void Head::on_ready(int node, Bytes payload) {
  Ready ready;
  if (!read_struct(payload, ready)) return;
  if (!payload.empty()) return on_unfit_at_start(node, text_of(payload), ready.exit_code);
  logs_[static_cast<std::size_t>(node)] = ready.logs;
  machines_[static_cast<std::size_t>(node)].assign(ready.machine, ::strnlen(ready.machine, sizeof ready.machine));
  if (options_.verbose && ready.copied > 0) {
    std::string from = ready.direct_from == UINT64_MAX ? "not" : fmt::format("from {} KiB on", ready.direct_from >> 10);
    output_.say(fmt::format("node {}: large messages are {} read out of the sender's memory ({:.1f} GB/s at 1 MiB; copied {:.1f})", node,
                            from, ready.direct, ready.copied));
  }
  states_[static_cast<std::size_t>(node)].ready = true;
  start_if_ready();
}

void Head::on_output(Bytes payload) {
  OutputHead head;
  if (!read_struct(payload, head) || head.rank < 0 || head.rank >= job_.rank_count()) return;
  output_.on_bytes(head.rank, head.stream == OutputStream::error ? OutputStream::error : OutputStream::out, payload);
}

void Head::on_event(int node, Bytes payload) {
  Event event;
  if (!read_struct(payload, event) || event.rank < 0 || event.rank >= job_.rank_count()) return;
  event.time_ns += agents_.clock_offset_ns(node);
  Hosting& h = hosting(event.rank);
  if (event.incarnation > h.incarnation) {
    h.incarnation = event.incarnation;
    h.listens = {};
  }
  timeline_.on_event(event, payload, node);
  watching_.on_event(node, event, payload);
  keep_past(event.rank);
  on_rank_event(event, payload, resuming_ && !states_[static_cast<std::size_t>(node)].reported);
}

void Head::on_sample(int node, Bytes payload) {
  watching_.on_sample(node, payload);
  if (!facts_) return;
  for (int rank : ranks_at(node)) keep_past(rank);
}

// False: news of an incarnation that has been followed by another.
bool Head::set_state(const Event& event, wire::RankState state) {
  if (event.incarnation != hosting(event.rank).incarnation) return false;
  hosting(event.rank).state = state;
  return true;
}

// `retold`: the head that is gone has heard it.
void Head::on_rank_event(const Event& event, Bytes text, bool retold) {
  auto rank = static_cast<std::size_t>(event.rank);
  switch (event.kind) {
    case EventKind::started:
      if (event.incarnation > 0 && !retold) output_.on_started(event.rank);
      if (background_ && !ending_ && all_started()) {  // another one may have failed to start already
        facts_->started = true;
        background_->on_started();
      }
      if (event.incarnation > 0 && rank_unprotected_[rank] && !died_before_unprotected(event)) return on_unprotected_death(event.rank);
      if (!set_state(event, wire::RankState::running)) return;
      return event.incarnation > 0 ? publish(event.rank) : tell_watchers(event.rank);
    case EventKind::joined:
      if (!std::exchange(mpi_job_announced_, true)) agents_.send_all_bytes(ControlKind::mpi_job, {});
      return;
    case EventKind::initialized:
      if (event.a != 0) rank_in_world_[rank] = true;
      look_for_absent();
      if (rank_initialized_[rank]) return;
      rank_initialized_[rank] = true;
      if (++ranks_initialized_ < job_.rank_count() || ending_ || resuming_) return;
      if (facts_) facts_->kills_from_ns = os::now().value;
      return kills_.start(os::now());
    case EventKind::listening:
      if (event.incarnation != hosting(event.rank).incarnation) return;
      hosting(event.rank).listens = {static_cast<std::uint32_t>(event.a >> 16), static_cast<std::uint16_t>(event.a)};
      return tell_watchers(event.rank);
    case EventKind::died:
      if (options_.verbose && !retold) {
        output_.say(fmt::format("rank {} was killed by {} in or after its MPI call number {}", event.rank,
                                os::signal_name(static_cast<int>(event.a)), event.b));
      }
      if (set_state(event, wire::RankState::dead)) publish(event.rank);
      return;
    case EventKind::rolled_back:
      if (options_.verbose && !retold) {
        output_.say(fmt::format("rank {} depended on events that were lost: it is rolled back (MPI call number {})", event.rank, event.b));
      }
      return;
    case EventKind::exited:
      if (set_state(event, wire::RankState::finished)) publish(event.rank);
      output_.on_over(event.rank, true);
      kills_.on_rank_over(event.rank);
      if (rank_over_[rank]) return;
      rank_over_[rank] = true;
      if (++ranks_over_ == job_.rank_count() && !ending_) end(0, 0);
      return look_for_absent();
    case EventKind::failed:
      if (!exit_code_) output_.say(fmt::format("{}; the job ends", text_of(text)));
      return end(static_cast<int>(event.a), grace_ms);
    case EventKind::unprotect:
      return on_unprotect(event, text_of(text));
    default:
      return on_note(event, text, retold);
  }
}

// The others would wait for it in MPI_Finalize at the latest; those that have sessions alone need not (MPI 5.0, 11.3). A head that has taken over does not
// know who has called MPI_Init.
void Head::look_for_absent() {
  if (ending_ || epoch_ > 0) return;
  const auto first = std::ranges::find(rank_in_world_, true);
  if (first == rank_in_world_.end()) return;
  for (std::size_t rank = 0; rank < rank_over_.size(); ++rank) {
    if (!rank_over_[rank] || rank_in_world_[rank]) continue;
    output_.say(fmt::format("rank {} exited without calling MPI_Init, which rank {} has called; the job ends", rank, first - rank_in_world_.begin()));
    return end(1, grace_ms);
  }
}

void Head::on_note(const Event& event, Bytes text, bool retold) {
  // The head that is gone has said most of it. A difference is said again.
  if (retold && event.kind != EventKind::diverged) return;
  if (event.kind == EventKind::note) {
    if (event.a == 0 && !notes_said_.emplace(text_of(text)).second) return;  // by another rank, or by one before that came back
    output_.say(event.a == 1 ? std::string(text_of(text)) : fmt::format("rank {}: {}", event.rank, text_of(text)));
  } else if (event.kind == EventKind::diverged) {
    output_.say(std::string(text_of(text)));
  } else if (event.kind == EventKind::exhausted) {
    if (!options_.verbose) return;
    output_.say(fmt::format("rank {}: its message log is full ({} MiB of memory, {} MiB of disk)", event.rank,
                            event.a >> 20, event.b >> 20));
  } else if (event.kind == EventKind::caught_up && options_.verbose) {
    output_.say(fmt::format("rank {} has caught up: {} MPI calls, {} messages replayed", event.rank, event.a, event.b));
  }
}

// What is told again to a head that goes on: that incarnation began before the rank was unprotected.
bool Head::died_before_unprotected(const Event& started) const {
  return facts_ && started.time_ns < facts_->rank(started.rank).unprotected_ns;
}

// Its agent had not yet heard that nobody keeps a log for it any more, and has started it again.
void Head::on_unprotected_death(int rank) {
  const auto reason = *rank_unprotected_[static_cast<std::size_t>(rank)];
  output_.say(fmt::format("rank {} was killed, and was unprotected: {}; the job ends", rank, why_unprotected(reason)));
  end(128 + SIGKILL, grace_ms);
}

void Head::on_unprotect(const Event& event, std::string_view function) {
  if (event.a >= rank_unprotected_.size() || rank_unprotected_[event.a]) return;
  const auto reason = static_cast<wire::UnprotectReason>(event.b);
  rank_unprotected_[event.a] = reason;
  if (facts_) {
    RankFacts& facts = facts_->rank(static_cast<int>(event.a));
    facts.unprotected_ns = event.time_ns;
    facts.unprotected = static_cast<std::uint32_t>(reason) + 1;
  }
  if (reason == wire::UnprotectReason::log_full) {
    output_.say(
        fmt::format("rank {} is unprotected from now on, its death would end the job: the message log of rank {} is "
                    "full (raise --log-memory or --log-disk)",
                    event.a, event.rank));
  } else if (!std::exchange(threads_told_, true)) {  // the other ranks run the same program
    output_.say(
        fmt::format("rank {} is unprotected from now on, its death would end the job: a second thread of it has called "
                    "{}, and in which order threads call MPI is not recorded; other ranks alike stand in the report",
                    event.a, function));
  }
  BoardChange change{static_cast<std::int32_t>(event.a)};
  change.unprotected = 1;
  agents_.send_all(ControlKind::board, change);
}

BoardChange Head::change_of(int rank) {
  const Hosting& h = hosting(rank);
  BoardChange change{rank, h.incarnation, h.state, h.listens.address, h.listens.port};
  change.agent = h.agent;
  change.log_base = h.log_base;
  change.logs = logs_[static_cast<std::size_t>(h.agent)];
  change.group = h.group;
  return change;
}

void Head::publish(int rank) {
  if (resuming_) return;  // all of them when all is known
  if (job_.agent_count() > 1) agents_.send_all(ControlKind::board, change_of(rank));
}

// What only those need who talk to it.
void Head::tell_watchers(int rank) {
  if (resuming_) return;
  for (int agent : hosting(rank).watchers) agents_.send(agent, ControlKind::board, change_of(rank));
}

void Head::on_look_up(int node, Bytes payload) {
  RankOnly wanted;
  if (!read_struct(payload, wanted) || wanted.rank < 0 || wanted.rank >= job_.rank_count()) return;
  auto& watchers = hosting(wanted.rank).watchers;
  if (std::ranges::find(watchers, node) == watchers.end()) watchers.push_back(node);
  agents_.send(node, ControlKind::board, change_of(wanted.rank));
}

// The first cause decides the exit code; a shorter grace overrides a longer one.
void Head::end(int exit_code, std::uint32_t grace) {
  if (!exit_code_) exit_code_ = exit_code;
  if (facts_) {
    facts_->exit_code = *exit_code_;
    facts_->ending = true;
  }
  if (resuming_ && !agents_.all_joined()) return;  // as soon as there is somebody to tell
  ending_ = true;
  input_.stop();
  if (clients_) clients_->input().close();
  kills_.stop();
  watching_.stop();
  agents_.on_ending();
  if (agents_.all_joined()) agents_.send_all(ControlKind::end_job, EndJob{grace});
  // An agent that does not follow is ended with its ranks.
  loop_.cancel(deadline_);
  deadline_ = loop_.at(os::later(os::now(), (std::int64_t{grace} + 5000) * os::millisecond_ns), [this] {
    forced_ = true;
    agents_.kill_all();
    for (int node = 0; node < job_.agent_count(); ++node) on_agent_gone(node);
    finish_if_over();
  });
  for (int node = 0; node < job_.agent_count(); ++node) {
    if (!agents_.all_joined()) on_agent_gone(node);  // has no ranks yet
  }
  finish_if_over();
}

// Over: every agent has ended its processes. What is still to be written is waited for, not the agents' own exits.
void Head::finish_if_over() {
  if (!ending_ || nodes_gone_ < job_.agent_count()) return;
  if (!std::exchange(ended_, true)) {
    timeline_.on_end(os::now(), *exit_code_);
    for (const std::string& line : kills_.not_carried_out(timeline_, epoch_ == 0)) output_.say(line);
    output_.write_error(summary(timeline_));
    if (facts_) facts_->left = true;
    agents_.leave();
  }
  if (output_.empty() && (forced_ || agents_.all_sent())) return loop_.stop();
  loop_.cancel(deadline_);
  deadline_ = loop_.at(os::later(os::now(), os::millisecond_ns), [this] { finish_if_over(); });
}

int Head::finish() {
  // Agents have nothing left to do; whatever else there is below this process ends with it.
  agents_.settle();
  os::end_all_children();
  remove_event_directory();
  if (facts_ && facts_->written) {  // by a head before this one
    clients_->close();
    return exit_code_.value_or(1);
  }
  if (!options_.report_path.empty()) write(options_.report_path, report_json(timeline_, job_, options_.tree));
  if (!options_.trace_path.empty()) write(options_.trace_path, trace_json(timeline_, job_));
  keep_end();
  if (facts_) facts_->written = true;
  clients_->close();
  return exit_code_.value_or(1);
}

void Head::write(const std::string& path, const std::string& text, Asked asked) {
  const Result<> written = write_file(path, text);
  if (written) return;
  os::print_error("holdfast: {}\n", written.error().text);
  if (exit_code_ == 0 && asked == Asked::yes) exit_code_ = 1;
}

Result<> try_files(const RunOptions& options) {
  for (const auto& [option, path] : {std::pair{"--report", options.report_path}, std::pair{"--trace", options.trace_path}}) {
    if (path.empty()) continue;
    if (Result<> tried = try_file(path); !tried) return fail(fmt::format("{}: {}; give a file that can be written", option, tried.error().text));
  }
  return {};
}

int run_main(const std::vector<std::string>& arguments) {
  if (::sodium_init() < 0) return 1;
  auto options = parse_run(arguments, own_environment(), own_directory());
  if (!options) {
    os::print_error("holdfast: {}\n", options.error().text);
    return options.error().exit_code;
  }
  if (!options->answer.empty()) {
    os::write_output(options->answer);
    return 0;
  }
  if (Result<> tried = try_files(*options); !tried) {
    os::print_error("holdfast: {}\n", tried.error().text);
    return 2;
  }
  if (options->detach) return run_in_background(std::move(*options));
  Result<HeadSeat> seat = make_head_seat(options->launch, options->hosts);
  if (!seat) {
    os::print_error("holdfast: {}\n", seat.error().text);
    return 1;
  }
  Head head(std::move(*options), std::move(*seat));
  return head.run();
}

}  // namespace hf::daemon
