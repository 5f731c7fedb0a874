#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "daemon/agent.hpp"
#include "daemon/mpi_library.hpp"
#include "os/process.hpp"

namespace hf::daemon {

using wire::BootstrapKind;

namespace {

// What a rank holds at most of payloads that came unexpected: of all others together, when that leaves enough for each.
constexpr std::uint64_t held_bytes = 256 << 20;
constexpr std::uint64_t eager_bytes_min = 64 << 10, credit_bytes_min = 256 << 10;
constexpr std::uint64_t credit_in_messages = 4;  // of the largest size

// A payload that is announced waits for an answer; one that comes before it is asked for is copied once more. Ranks that share cores
// are often behind, and most comes early there: beside a log, whose copy of a payload goes on while it leaves, both cost the same.
constexpr std::uint64_t eager_bytes = 1 << 20, eager_bytes_behind = 256 << 10;

bool descends_from(pid_t process, pid_t ancestor) {
  for (int i = 0; i < 64 && process > 1; ++i) {
    if (process == ancestor) return true;
    process = os::parent_of(process);
  }
  return false;
}

std::string one_line(Bytes text) {
  std::string out(text_of(text));
  while (!out.empty() && (out.back() == '\n' || out.back() == '\0')) out.pop_back();
  for (char& c : out) {
    if (c == '\n') c = ' ';
  }
  return out;
}

}  // namespace

Result<> Agent::may_have_past(int number, pid_t process) {
  LocalRank* rank = local(number);
  const bool runs = rank && rank->state == LocalRank::State::running;
  const bool other = runs && rank->mpi_process != 0 && rank->mpi_process != process;
  if (!runs || other || (::getpgid(process) != rank->leader && !descends_from(process, rank->leader))) {
    return fail(fmt::format("process {} is not rank {}", process, number));
  }
  return {};
}

Result<> Agent::may_join(int number, pid_t process) {
  LocalRank* rank = local(number);
  if (rank && rank->starting) on_start_told(*rank);  // it has been executed: others hear of that first
  if (!rank || rank->state != LocalRank::State::running) {
    return fail(fmt::format("rank {} is not running on this node", number));
  }
  if (rank->mpi_process != 0) {
    return fail(fmt::format("rank {} has called MPI_Init in process {} already: one MPI program a rank", number,
                            rank->mpi_process));
  }
  if (::getpgid(process) != rank->leader && !descends_from(process, rank->leader)) {
    return fail(fmt::format("process {} was not started as rank {}", process, number));
  }
  return {};
}

void Agent::on_joined(int number, pid_t process) {
  LocalRank& rank = *local(number);
  rank.mpi_process = process;
  job_is_mpi_ = true;
  if (job_.protocol != wire::Protocol::none) segments_->prepare(std::ssize(ranks_of_machine()) >= os::usable_cores());
  if (process != rank.leader) {
    if (Result<os::UniqueFd> pidfd = os::open_pidfd(process)) {
      rank.mpi_pidfd = std::move(*pidfd);
      loop_.add(rank.mpi_pidfd.get(), EPOLLIN, [this, &rank](std::uint32_t) { on_mpi_process_death(rank); });
    } else {
      rank.mpi_status = SIGKILL;  // gone before its welcome
      kill_rest(rank);
    }
  }
  event(EventKind::joined, rank);
  name_second_mpi(rank);
}

// What was built for another MPI, and is loaded beside ours, finds our functions and gives them handles of the other.
void Agent::name_second_mpi(const LocalRank& rank) {
  if (!begins_program(rank)) return;
  const std::string other = second_mpi_of(rank.mpi_process);
  if (other.empty()) return;
  event(EventKind::note, rank, {}, bytes_of(fmt::format("the program has loaded a second MPI, {}: what was built for it fails here; "
                                                        "build all of the program with Holdfast's mpicc", other)));
}

wire::Welcome Agent::welcome(int number) {
  const LocalRank& rank = *local(number);
  wire::Welcome out;
  out.rank = number;
  out.incarnation = rank.incarnation;
  out.rank_count = job_.rank_count();
  out.node = job_.node_of(number);
  out.node_count = job_.node_count;
  out.agent = ticket_.node;
  out.agent_count = job_.agent_count();
  out.address = head_.address();
  out.log_level = job_.log_level;
  out.app_number = job_.program_of(number);
  out.protocol = job_.protocol;
  out.keeps_payloads = job_.recovers();
  out.direct_from_bytes = direct_from_;
  out.rule_count = static_cast<std::uint32_t>(job_.collective_rules.size());
  out.job_started_ns = job_.started_ns;
  out.orders_threads = job_.orders_threads;
  out.says_unrecorded = rank.preloaded && begins_program(rank);
  out.divergence_is_fatal = job_.divergence_is_fatal;
  const std::vector<int> neighbours = ranks_of_machine();
  out.machine_index = static_cast<std::int32_t>(std::ranges::find(neighbours, number) - neighbours.begin());
  out.machine_ranks = static_cast<std::int32_t>(neighbours.size());
  out.machine_cores = os::usable_cores();
  out.log_ready_bytes = rank.incarnation == 0 ? job_.log_ready_bytes : 0;  // a new incarnation is to begin at once
  out.log_segment_bytes = segments_->limits().segment_bytes;
  const std::uint64_t share = held_bytes / credit_in_messages / static_cast<std::uint64_t>(job_.rank_count());
  out.eager_bytes = std::min(job_.eager_bytes ? job_.eager_bytes : eager_bytes, std::max(share, eager_bytes_min));
  const bool behind = out.oversubscribed() && job_.protocol == wire::Protocol::none && !job_.eager_bytes;
  out.announced_above_bytes = behind ? std::min(eager_bytes_behind, out.eager_bytes) : out.eager_bytes;
  out.eager_credit_bytes = std::max(out.eager_bytes * credit_in_messages, credit_bytes_min);
  std::memcpy(out.job_key, ticket_.key.data(), sizeof out.job_key);
  job_.node_name(job_.node_of(number)).copy(out.node_name, sizeof out.node_name - 1);
  for (const Injection& injection : job_.injections) {
    if (injection.kind != Injection::Kind::covered) continue;
    out.drops_every_calls = injection.call;
    out.covers = injection.rank < 0 || injection.rank == number;
  }
  if (rank.incarnation > 0) return out;
  for (const Injection& injection : job_.injections) {
    if (injection.rank != number) continue;
    if (injection.kind == Injection::Kind::at_call && (out.kill_at_call == 0 || injection.call < out.kill_at_call)) {
      out.kill_at_call = injection.call;
    }
    if (injection.kind == Injection::Kind::at_point) injection.point.copy(out.inject, sizeof out.inject - 1);
  }
  return out;
}

// Of all agents that share this one's machine, agent by agent.
std::vector<int> Agent::ranks_of_machine() const {
  std::vector<int> out;
  for (std::size_t agent = 0; agent < machines_.size(); ++agent) {
    if (machines_[agent] != machines_[static_cast<std::size_t>(ticket_.node)]) continue;
    for (int rank = 0; rank < job_.rank_count(); ++rank) {
      if (hosting_[static_cast<std::size_t>(rank)].agent == static_cast<int>(agent)) out.push_back(rank);
    }
  }
  return out;
}

std::vector<wire::RankEntry> Agent::ranks() {
  return hosting_;
}

int Agent::own_control_fd(int number) {
  return segments_->control_fd(number, local(number)->incarnation);
}

int Agent::doorbell_fd(int number) {
  LocalRank* rank = local(number);
  return rank ? rank->doorbell.get() : -1;
}

void Agent::on_exhausted(int number, const wire::Exhausted& limits) {
  if (std::exchange(local(number)->exhausted_told, true)) return;
  event(EventKind::exhausted, *local(number), {limits.memory_limit_bytes, limits.disk_limit_bytes});
}

void Agent::on_told(int number, BootstrapKind kind, Bytes payload) {
  LocalRank& rank = *local(number);
  if (kind == BootstrapKind::listening) {
    wire::Listening at;
    if (!read_struct(payload, at)) return;
    board_.set_address(number, rank.incarnation, at.address, at.port);
    ring_all();
    event(EventKind::listening, rank, {std::uint64_t{at.address} << 16 | at.port});
  } else if (kind == BootstrapKind::initialized) {
    wire::Initialized how;
    if (!read_struct(payload, how)) return;
    rank.finalized = false;  // with sessions it comes and goes (MPI 5.0, 11.3)
    if (!std::exchange(rank.initialized, true) || how.world != 0) event(EventKind::initialized, rank, {how.world});
  } else if (kind == BootstrapKind::finalized) {
    rank.finalized = true;
    event(EventKind::finalized, rank);
  } else if (kind == BootstrapKind::abort_job) {
    wire::AbortJob abort;
    if (!read_struct(payload, abort)) return;
    int code = abort.exit_code & 0xff;
    rank_failed(rank, {code == 0 && abort.exit_code != 0 ? 1 : code,
                       fmt::format("rank {} aborted the job with code {}: {}", number, abort.exit_code, one_line(payload))});
  } else if (kind == BootstrapKind::diverged) {
    wire::Diverged diverged;
    if (!read_struct(payload, diverged)) return;
    const std::string what = one_line(payload);
    const std::string text =
        diverged.peer < 0
            ? fmt::format("rank {}: replay differs from the log at MPI call {}: {}", number, diverged.call, what)
            : fmt::format("rank {}: replay differs from what rank {} had received of it: {} (seen in MPI call {} of rank {})",
                          diverged.peer, number, what, diverged.call, number);
    if (diverged.fatal) return rank_failed(rank, {1, text});
    event(EventKind::diverged, rank, {diverged.call}, bytes_of(text));
  } else if (kind == BootstrapKind::caught_up) {
    wire::CaughtUp at;
    if (!read_struct(payload, at)) return;
    event(EventKind::caught_up, rank, {at.call, at.messages_replayed, at.sends_suppressed, at.determinants});
  } else if (kind == BootstrapKind::unprotect) {
    wire::Unprotect what;
    if (!read_struct(payload, what) || what.rank < 0 || what.rank >= job_.rank_count()) return;
    if (what.rank == number) {  // at once: it may die before the head has told all boards
      rank.unprotected = true;
      rank.unprotected_by = what.reason;
    }
    std::string function = one_line(payload);
    event(EventKind::unprotect, rank, {static_cast<std::uint64_t>(what.rank), static_cast<std::uint64_t>(what.reason)},
          bytes_of(function));
  } else if (kind == BootstrapKind::look_up) {
    wire::RankName name;
    if (read_struct(payload, name) && name.rank >= 0 && name.rank < job_.rank_count()) look_up(name.rank);
  } else if (kind == BootstrapKind::forget) {
    wire::RankName name;
    if (!read_struct(payload, name) || name.rank < 0 || name.rank >= job_.rank_count()) return;
    segments_->forget(number, name.rank);
  } else if (kind == BootstrapKind::determined) {
    if (keeper_) keeper_->look(Rank{number});
  } else if (kind == BootstrapKind::orphaned) {
    look_at(rank);
  } else if (kind == BootstrapKind::note) {
    std::string text = one_line(payload);
    event(EventKind::note, rank, {}, bytes_of(text));
  }
}

void Agent::on_fatal(int number, const std::string& text) {
  event_failed(*local(number), 1, fmt::format("agent of node {}: {}", ticket_.node, text));
}

Bytes Agent::control(Rank rank, Incarnation incarnation) {
  return segments_->control_bytes(rank.value, incarnation.value);
}

Bytes Agent::segment(Rank rank, Incarnation incarnation, std::uint32_t index) {
  return segments_->log_bytes(rank.value, incarnation.value, index);
}

bool Agent::make_stable(Rank rank, std::uint64_t events, TestClock failed) {
  if (!keeper_ || keeper_->stable(rank).covers({events, failed})) return true;
  keeper_->look(rank);
  return keeper_->stable(rank).covers({events, failed});
}

bool Agent::is_final(Rank number, Incarnation incarnation) {
  LocalRank* rank = local(number.value);
  return rank && (incarnation.value < rank->incarnation || rank->state == LocalRank::State::over);
}

}  // namespace hf::daemon
