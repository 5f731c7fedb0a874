#include "daemon/agent.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sodium.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/job_clients.hpp"
#include "daemon/message_ways.hpp"
#include "os/clock.hpp"
#include "os/print.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

bool read_exactly(MutableBytes to) {
  while (!to.empty()) {
    ssize_t n = ::read(0, to.data(), to.size());
    if (n <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Agent::Agent(const AgentTicket& ticket)
    : ticket_(ticket),
      head_(loop_, ticket_,
            {[this](ControlKind kind, Bytes payload) { on_message(kind, payload); }, [this] { on_head_gone(); }, [this] { on_head_lost(); }, [this] { on_head_back(); },
             [this](int agent, ChannelPtr channel) {
               if (keeper_) keeper_->on_guest(agent, std::move(channel));
             },
             [this](const std::string& line) { note(line); },
             [this](NodeId agent) {
               if (keeper_) keeper_->lose_place(agent.value);
             }}),
      bootstrap_(loop_, *this) {}

Agent::~Agent() = default;

int Agent::run(bool head_has_stdin) {
  // Processes that a rank leaves behind become ours, so that they can be ended and reaped.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  os::raise_open_file_limit();
  // Ctrl-C is the head's business; an agent ends when the head says so or is gone. Slurm sends the user's signals to its tasks, the agents.
  Result<os::UniqueFd> signals = os::catch_signals({SIGCHLD, SIGINT, SIGHUP, SIGUSR1, SIGUSR2});
  if (!signals) {
    os::print_error("holdfast: agent: {}\n", signals.error().text);
    return 1;
  }
  signals_ = std::move(*signals);
  loop_.add(signals_.get(), EPOLLIN, [this](std::uint32_t) {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2) pass_signal(static_cast<int>(info.ssi_signo));
    }
    on_children();
  });
  if (Result<> connected = head_.connect(); !connected) {
    os::print_error("holdfast: agent: {}\n", connected.error().text);
    return exit_head_not_reached;
  }
  if (head_has_stdin) watch_head();
  loop_.run();
  return 0;
}

// Its end of stdin closes with it, also where the network does not tell.
void Agent::watch_head() {
  if (ticket_.head_returns_ms > 0) return;
  loop_.add(0, EPOLLIN, [this](std::uint32_t) {
    char none;
    if (::read(0, &none, 1) == 0) {
      loop_.remove(0);
      on_head_gone();
    }
  });
}

void Agent::on_message(ControlKind kind, Bytes payload) {
  if (gone_) return;
  if (unfit_ && kind == ControlKind::start) return head_.on_started();
  if (unfit_ && kind != ControlKind::end_job && kind != ControlKind::leave) return;
  switch (kind) {
    case ControlKind::job:
      return on_job(payload);
    case ControlKind::start:
      return on_start(payload);
    case ControlKind::holder:
      return on_holder(payload);
    case ControlKind::strike:
      if (Strike strike; read_struct(payload, strike)) on_strike(strike.pause_ns);
      return;
    case ControlKind::hold_events:
      if (HoldEvents hold; keeper_ && read_struct(payload, hold)) keeper_->hold_back(hold.for_ns);
      return;
    case ControlKind::disk_fault:
      if (DiskFault fault; keeper_ && keeper_->files() && read_struct(payload, fault)) {
        if (fault.for_ns > 0) keeper_->files()->stand_still(fault.for_ns);
        else keeper_->files()->fill_up();
      }
      return;
    case ControlKind::cut:
      return on_cut(payload);
    case ControlKind::adopt:
      return on_adopt(payload);
    case ControlKind::ask_sample:
      return send_sample();
    case ControlKind::events_cut:
      return on_events_cut(payload);
    case ControlKind::roll_back:
      return on_roll_back(payload);
    case ControlKind::forget_events:
      if (ForgetEvents what; keeper_ && read_struct(payload, what)) keeper_->forget(what);
      return;
    case ControlKind::settled:
      if (RankOnly name; keeper_ && read_struct(payload, name)) keeper_->on_settled(Rank{name.rank});
      return;
    case ControlKind::board:
      return on_board_change(payload);
    case ControlKind::input:
      return on_input(payload, false);
    case ControlKind::input_end:
      return on_input(payload, true);
    case ControlKind::output_taken:
      return on_output_taken(payload);
    case ControlKind::kill_rank:
      if (RankOnly target; read_struct(payload, target)) on_injected_kill(target.rank);
      return;
    case ControlKind::pass_signal:
      if (PassSignal passed; read_struct(payload, passed)) pass_signal(passed.signal);
      return;
    case ControlKind::mpi_job:
      job_is_mpi_ = true;
      return;
    case ControlKind::end_job:
      head_.on_ending();
      if (EndJob end; read_struct(payload, end)) end_job(end.grace_ms);
      return;
    case ControlKind::leave:
      return on_leave();
    default:
      return on_head_gone();  // not our head
  }
}

void Agent::on_job(Bytes payload) {
  if (!decode(payload, job_)) return on_head_gone();
  limit_ready_logs(static_cast<std::uint64_t>(std::max(1, job_.local_size(ticket_.node))));
  const NodeNeeds needs = needs_at_start(job_, ticket_.node);
  const NodeState state = look_at_node(needs);
  if (std::string why = why_unfit(needs, state); !why.empty()) {
    unfit_ = true;
    Ready ready;
    ready.exit_code = state.directory_error.empty() ? 1 : 2;
    return send_head(ControlKind::ready, ready, bytes_of(why));
  }
  if (Result<> opened = open_event_directory(); !opened) {
    unfit_ = true;
    Ready ready;
    ready.exit_code = 2;
    return send_head(ControlKind::ready, ready, bytes_of(opened.error().text));
  }
  if (Result<> prepared = prepare(); !prepared) {
    os::print_error("holdfast: agent of node {}: {}\n", ticket_.node, prepared.error().text);
    return on_head_gone();
  }
  Ready ready;
  ready.logs = own_logs();
  os::machine_id().copy(ready.machine, sizeof ready.machine - 1);
  choose_ways(ready);
  send_head(ControlKind::ready, ready);
}

void Agent::on_start(Bytes payload) {
  for (std::uint16_t machine; read_struct(payload, machine);) machines_.push_back(machine);
  if (std::ssize(machines_) != job_.agent_count()) return on_head_gone();  // not our head
  head_.on_started();
  for (int rank = 0; rank < job_.rank_count(); ++rank) {
    const int node = job_.node_of(rank);
    set_place(rank, node, node, 0, node == ticket_.node ? own_logs() : Address{});
  }
  for (auto& rank : ranks_) {
    if (keeper_) keeper_->add_rank(Rank{rank->rank}, Term{0}, {});
  }
  choose_log_memory();
  divide_cores();
  start_all();
}

// By default an eighth of what this machine, or the control groups that the job is in, have, for the logs of so many ranks; what is made ready of
// each is no more than half of that.
std::uint64_t Agent::limit_ready_logs(std::uint64_t ranks) {
  if (job_.log_memory_bytes != log_memory_of_machine) return job_.log_memory_bytes;
  const std::uint64_t each = std::max(log_memory_least, memory_of_machine() / 8 / ranks);
  job_.log_ready_bytes = std::min(job_.log_ready_bytes, each / 2);
  return each;
}

// For all ranks of this machine; where there are none yet, for as many as may come from the largest one.
void Agent::choose_log_memory() {
  if (job_.log_memory_bytes != log_memory_of_machine) return;
  std::vector<std::uint64_t> ranks_on(machines_.size());
  for (const wire::RankEntry& entry : hosting_) ++ranks_on[machines_[static_cast<std::size_t>(entry.agent)]];
  const std::uint64_t here = ranks_on[machines_[static_cast<std::size_t>(ticket_.node)]];
  job_.log_memory_bytes = limit_ready_logs(here > 0 ? here : std::ranges::max(ranks_on));
  segments_->set_limits(job_.log_memory_bytes, job_.log_ready_bytes * ranks_.size());
}

// A rank of this node has to reach one of another: its address comes with the head's answer, and each later one too.
void Agent::look_up(int rank) {
  if (local(rank) || looked_up_[static_cast<std::size_t>(rank)]) return;
  looked_up_[static_cast<std::size_t>(rank)] = true;
  send_head(ControlKind::look_up, RankOnly{rank});
}

// Whether receivers read the memory of senders of this node, or large messages are copied.
void Agent::choose_ways(Ready& ready) {
  if (job_.large_messages == LargeMessages::copied) direct_from_ = UINT64_MAX;
  if (job_.large_messages != LargeMessages::measured || ranks_.size() < 2 || os::usable_cores() < 2) return;
  auto rates = ways_of_this_machine(job_.recovers() ? job_.protocol : wire::Protocol::none, cache_directory());
  if (!rates) return;
  ready.direct_from = direct_from_ = direct_from(*rates);
  ready.direct = rates->direct.back();
  ready.copied = rates->copied.back();
}

Result<> Agent::prepare() {
  Result<Board> board = Board::create(job_.rank_count());
  if (!board) return std::unexpected(board.error());
  board_ = std::move(*board);
  std::uint64_t local_ranks = 0;
  for (int number = 0; number < job_.rank_count(); ++number) local_ranks += job_.node_of(number) == ticket_.node;
  segments_ = std::make_unique<SegmentStore>(
      job_.rank_count(), SegmentLimits{job_.log_memory_bytes, job_.log_disk_bytes, job_.log_directory,
                                       choose_segment_bytes(job_.log_memory_bytes), job_.log_ready_bytes * local_ranks});
  if (Result<> opened = bootstrap_.open(); !opened) return opened;
  if (Result<> served = serve_logs(); !served) return served;
  hosting_.resize(static_cast<std::size_t>(job_.rank_count()));
  looked_up_.resize(hosting_.size());
  if (job_.keeps_events()) {
    EventKeeper::Owner& owner = *this;
    keeper_ = std::make_unique<EventKeeper>(loop_, ticket_.key, NodeId(ticket_.node),
                                            EventKeeper::Settings{job_.event_memory_bytes, optimist(), job_.event_copies}, owner);
    if (event_files_) keeper_->keep_on_disk(std::move(*event_files_), job_.keeps_on_nodes());
  }
  for (int number = 0; number < job_.rank_count(); ++number) {
    if (job_.node_of(number) != ticket_.node) continue;
    if (Result<> made = make_rank(number); !made) return made;
  }
  return {};
}

// At level `disk`: found here, or the nodes do not share it.
Result<> Agent::open_event_directory() {
  if (!job_.keeps_on_disk()) return {};
  const std::string& path = job_.event_directory;
  Result<EventDirectory> directory = EventDirectory::open(path, job_.event_key, job_.rank_count());
  if (!directory) {
    return fail(fmt::format("does not see {}, which the head has made ({}): --event-dir must name a directory that all nodes share", path,
                            directory.error().text));
  }
  Result<os::UniqueFd> file = directory->make_file(ticket_.node);
  if (!file) return fail(fmt::format("{} (--event-dir)", file.error().text));
  const core::event_logger::FileName name{job_.event_key, static_cast<std::uint32_t>(ticket_.node)};
  event_files_.emplace(std::move(*directory), name, std::move(*file));
  return {};
}

Result<> Agent::make_rank(int number) {
  auto rank = std::make_unique<LocalRank>(number, job_.restarts_max);
  LocalRank* self = rank.get();
  auto on_bytes = [this, self](OutputStream stream, Bytes bytes) { on_output(*self, stream, bytes); };
  rank->output = std::make_unique<OutputPipe>(loop_, OutputStream::out, on_bytes);
  rank->error = std::make_unique<OutputPipe>(loop_, OutputStream::error, on_bytes);
  if (ticket_.head_returns_ms > 0) {
    rank->output_tail.emplace(tail_bytes_min);
    rank->error_tail.emplace(tail_bytes_min);
  }
  if (number == 0) {
    rank->input = std::make_unique<InputFeeder>(loop_, input_, [this](std::uint64_t position) {
      if (position <= input_taken_) return;  // given again to a later incarnation
      send_head(ControlKind::input_taken, OutputTaken{position - input_taken_});
      input_taken_ = position;
    });
  }
  rank->doorbell.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!rank->doorbell) return fail(fmt::format("cannot make an eventfd: {}", std::strerror(errno)));
  auto at = std::ranges::upper_bound(ranks_, number, {}, [](const auto& r) { return r->rank; });
  ranks_.insert(at, std::move(rank));
  return {};
}

Result<> Agent::serve_logs() {
  Result<os::TcpListener> listener = os::listen_tcp(head_.address());
  if (!listener) return std::unexpected(listener.error());
  log_listener_ = std::move(*listener);
  LogServerOptions options;
  options.node = NodeId(ticket_.node);
  options.rank_count = job_.rank_count();
  static_assert(sizeof options.job_key == sizeof ticket_.key);
  std::memcpy(&options.job_key, ticket_.key.data(), sizeof options.job_key);
  SegmentProvider& provider = *this;
  log_server_ = std::make_unique<LogServer>(log_listener_.fd.get(), options, provider);
  loop_.add(log_server_->descriptor(), EPOLLIN, [this](std::uint32_t) {
    log_server_->poll();
    std::string line;
    while (log_server_->poll_report(line)) note(line);
  });
  return {};
}

void Agent::note(const std::string& line) {
  std::string text = fmt::format("node {}: {}", ticket_.node, line);
  send_head(ControlKind::event, Event{EventKind::note, 0, 0, 0, os::now().value, 1}, bytes_of(text));
}

void Agent::on_head_gone() {
  if (gone_) return;
  // Nobody is left to report to: everything of this node ends at once.
  for (auto& rank : ranks_) {
    if (rank->alive()) rank->kill_all(SIGKILL);
  }
  os::end_all_children();
  gone_ = true;
  loop_.stop();
}

void Agent::on_board_change(Bytes payload) {
  BoardChange change;
  if (!read_struct(payload, change) || change.rank < 0 || change.rank >= job_.rank_count()) return;
  if (change.unprotected != 0) {
    if (LocalRank* rank = local(change.rank)) rank->unprotected = true;
    board_.set_unprotected(change.rank);
    return ring_all();
  }
  if (local(change.rank)) return;  // this agent knows better
  if (change.agent >= 0) set_place(change.rank, change.agent, change.group, change.log_base, change.logs);
  if (change.state != wire::RankState::absent) board_.set_state(change.rank, change.incarnation, change.state);
  if (change.port != 0) board_.set_address(change.rank, change.incarnation, change.address, change.port);
  ring_all();
}

void Agent::on_input(Bytes payload, bool end) {
  if (Result<> kept = input_.append(payload); !kept) {
    if (!ranks_.empty()) event_failed(*ranks_.front(), 1, kept.error().text);
    return;
  }
  if (end) input_.end();
  if (LocalRank* rank = local(0)) rank->input->on_more();
}

void Agent::on_output_taken(Bytes payload) {
  OutputTaken taken;
  if (!read_struct(payload, taken)) return;
  output_unconfirmed_ -= std::min(taken.bytes, output_unconfirmed_);
  if (output_paused_ && output_unconfirmed_ <= output_window() / 2) pause_output(false);
}

void Agent::end_job(std::uint32_t grace_ms) {
  ending_ = true;
  loop_.cancel(grace_timer_);
  for (auto& rank : ranks_) {
    pass_all_output(*rank);
    if (rank->state == LocalRank::State::idle || rank->state == LocalRank::State::orphaned) over(*rank);
    if (rank->alive()) rank->kill_all(grace_ms > 0 ? SIGTERM : SIGKILL);
  }
  if (grace_ms > 0) {
    grace_timer_ = loop_.at(os::later(os::now(), grace_ms * os::millisecond_ns), [this] { end_job(0); });
  }
  finish_if_over();
}

void Agent::finish_if_over() {
  if (!ending_ || gone_) return;
  for (auto& rank : ranks_) {
    if (rank->state != LocalRank::State::over) return;
  }
  os::end_all_children();
  if (!std::exchange(over_, true)) send_head_bytes(ControlKind::gone);
}

// What others below this agent are told has been sent when this is.
void Agent::on_leave() {
  if (head_.all_sent()) return loop_.stop();
  loop_.at(os::later(os::now(), os::millisecond_ns), [this] { on_leave(); });
}

void Agent::event(EventKind kind, const LocalRank& rank, std::array<std::uint64_t, 4> v, Bytes text) {
  const Event event{kind, rank.rank, rank.incarnation, 0, os::now().value, v[0], v[1], v[2], v[3]};
  if (ticket_.head_returns_ms > 0 && kind != EventKind::note) told_.push_back({event, {text.begin(), text.end()}});
  send_head(ControlKind::event, event, text);
}

void Agent::event_failed(const LocalRank& rank, int exit_code, const std::string& text) {
  for (auto& one : ranks_) pass_all_output(*one);  // what it said before
  event(EventKind::failed, rank, {static_cast<std::uint64_t>(exit_code)}, bytes_of(text));
}

void Agent::ring_all() {
  for (auto& rank : ranks_) ::eventfd_write(rank->doorbell.get(), 1);
}

LocalRank* Agent::local(int number) const {
  for (auto& rank : ranks_) {
    if (rank->rank == number) return rank.get();
  }
  return nullptr;
}

int agent_main(const std::vector<std::string>& arguments) {
  AgentTicket ticket;
  auto bytes = std::as_writable_bytes(std::span(&ticket, 1));
  constexpr std::size_t head_bytes = offsetof(AgentTicket, node);
  if (::isatty(0) || !read_exactly(bytes.first(head_bytes)) || ticket.magic != AgentTicket().magic) {
    os::print_error("holdfast: the agent is started by 'holdfast run', not by hand\n");
    return 2;
  }
  // Another build's ticket may be shorter, and stdin does not end with it.
  if (ticket.build != own_build() || !read_exactly(bytes.subspan(head_bytes))) {
    os::print_error("holdfast: agent: this holdfast {} is of another build than the one that starts it\n", HOLDFAST_VERSION);
    return exit_other_build;
  }
  if (!plausible(ticket)) {
    os::print_error("holdfast: agent: what it was given to start with is damaged\n");
    return 2;
  }
  if (::sodium_init() < 0) return 1;
  if (arguments == std::vector<std::string>{"--under-slurm"}) {
    os::use_all_cores();
    ::signal(SIGTERM, SIG_IGN);  // the head hears of it too, and decides
  }
  os::run_before_others();
  Agent agent(ticket);
  const int code = agent.run(true);
  remove_name_of_dead_head();
  return code;
}

}  // namespace hf::daemon
