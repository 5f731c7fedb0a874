// The agent of one node: starts its ranks, sees them die and starts them again, keeps their segments, passes on their
// output. One poll loop; joined to the head through the tree of agents. The agent's death is its node's (design
// section 6.1).
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"
#include "daemon/adoption.hpp"
#include "daemon/agent_report.hpp"
#include "daemon/board.hpp"
#include "daemon/bootstrap_server.hpp"
#include "daemon/event_keeper.hpp"
#include "daemon/head_link.hpp"
#include "daemon/job.hpp"
#include "daemon/local_rank.hpp"
#include "daemon/log_service/log_server.hpp"
#include "daemon/node_health.hpp"
#include "os/process.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {

class Agent : private BootstrapOwner, private SegmentProvider, private EventKeeper::Owner {
 public:
  explicit Agent(const AgentTicket& ticket);
  ~Agent() override;
  // Until the job has ended or the head is gone; an exit code. `head_has_stdin`: stdin ends with the head.
  int run(bool head_has_stdin);

 private:
  // ---- agent.cpp: life of the agent, frames of the head
  void watch_head();
  void on_message(ControlKind kind, Bytes payload);
  void on_job(Bytes payload);
  Result<> prepare();
  void choose_ways(Ready& ready);
  std::uint64_t limit_ready_logs(std::uint64_t ranks);
  void choose_log_memory();
  Result<> serve_logs();
  Result<> open_event_directory();
  void on_start(Bytes payload);
  void look_up(int rank);
  Address own_logs() const { return {head_.address(), log_listener_.port}; }
  Result<> make_rank(int number);
  void note(const std::string& line);
  void on_head_gone();
  void on_board_change(Bytes payload);
  void on_input(Bytes payload, bool end);
  void on_output_taken(Bytes payload);
  void end_job(std::uint32_t grace_ms);
  void finish_if_over();
  void on_leave();
  void event(EventKind kind, const LocalRank& rank, std::array<std::uint64_t, 4> values = {}, Bytes text = {});
  void event_failed(const LocalRank& rank, int exit_code, const std::string& text);
  void rank_failed(LocalRank& rank, RankFailure failure);
  void pass_unstable(LocalRank& rank, LocalRank::UnstableOutput output);
  void ring_all();
  LocalRank* local(int rank) const;

  template <class T>
  void send_head(ControlKind kind, const T& body, Bytes tail = {}) {
    head_.send(kind, std::as_bytes(std::span(&body, 1)), tail);
  }
  void send_head_bytes(ControlKind kind, Bytes body = {}) { head_.send(kind, body); }

  // ---- agent_ranks.cpp: life of the ranks
  void divide_cores();
  void start_all();
  void start_next(std::size_t index);
  Result<> bind_all();
  void start(LocalRank& rank);
  std::expected<os::StartingProcess, os::StartError> execute(LocalRank& rank);
  void on_start_told(LocalRank& rank);
  void on_not_started(LocalRank& rank, const os::StartError& error);
  void preload_recorder(LocalRank& rank, os::Command& command);
  bool begins_program(const LocalRank& rank) const;
  void name_second_mpi(const LocalRank& rank);
  void on_children();
  void on_leader_death(LocalRank& rank, int status);
  void on_mpi_process_death(LocalRank& rank);
  void kill_rest(LocalRank& rank);
  void conclude(LocalRank& rank);
  void judge(LocalRank& rank, int status);
  void judge_signal(LocalRank& rank, int signal);
  void restart(LocalRank& rank, int signal, std::uint64_t call);
  void drop_output(LocalRank& rank);
  void over(LocalRank& rank);
  void on_injected_kill(int rank);
  void pass_signal(int signal);
  void check_libraries(LocalRank& rank);
  void on_output(LocalRank& rank, OutputStream stream, Bytes bytes);
  void pass_output(LocalRank& rank, OutputStream stream, Bytes bytes);
  void pass_held_output(LocalRank& rank);
  void pause_output(bool paused);

  void send_output(LocalRank& rank, OutputStream stream, Bytes bytes);
  void pass_stable_output(LocalRank& rank);
  void pass_all_output(LocalRank& rank);
  void tell_exited(LocalRank& rank);

  // ---- agent_watch.cpp: what those see who watch the job
  void send_sample();

  // ---- agent_nodes.cpp: ranks taken over from a lost agent; EventKeeper::Owner
  void on_strike(std::int64_t pause_ns);
  void on_holder(Bytes payload);
  void on_cut(Bytes payload);
  void set_sides(std::vector<std::uint16_t> sides);
  int side_of(int agent) const { return sides_.empty() ? 0 : sides_[static_cast<std::size_t>(agent)]; }
  bool cut_off(int agent) const { return side_of(agent) != side_of(ticket_.node); }
  void on_adopt(Bytes payload);
  void next_adoption();
  void on_found(EventKeeper::Fetched fetched);
  void adopt(std::map<Rank, EventKeeper::Found> found, std::string failure);
  std::string why_lost(const AdoptedRank& adopted, const EventKeeper::Found& found) const;
  Result<> adopt_one(const AdoptedRank& adopted, const EventKeeper::Found& found);
  void set_place(int rank, int agent, int group, std::uint32_t log_base, Address logs);
  EventKeeper::Extent written(Rank rank) override;
  bool read_events(Rank rank, std::uint64_t position, MutableBytes out) override;
  void on_looked_at(Rank rank, bool on) override { board_.set_looked_at(rank.value, on); }
  void on_busy() override { head_.on_busy(); }
  bool awaits_stable(const LocalRank& rank) const;
  void on_stable(Rank rank, const EventKeeper::Extent& extent) override;
  void on_held(Generation generation) override;
  void on_holder_lost(Generation generation, bool full, const std::string& why) override;
  void on_fenced(Rank rank) override;
  void on_damaged(Rank rank) override;
  void on_disk_failed(const std::string& why) override;
  int first_host(Rank rank) override { return job_.node_of(rank.value); }
  void on_carriable(int agent) override;
  EventKeeper::Extent carried(Rank rank) override;
  std::vector<segment::CarriedEvents::Piece> fence(Rank rank, Term below, Term held) override;

  // ---- agent_orphans.cpp: protocol optimist (docs/optimist.md)
  bool optimist() const { return job_.is_optimist(); }
  void on_events_cut(Bytes payload);
  void go_on_with_adoption(const EventsCut& cut);
  void look_at_streams();
  bool follow_stream(LocalRank& rank, std::uint64_t at_least);
  bool look_at(LocalRank& rank);
  void tell_orphan(const LocalRank& rank);
  void on_roll_back(Bytes payload);
  void roll_back_if_ended(LocalRank& rank);
  Result<> roll_back(LocalRank& rank, const RollBack& to);
  void cut_found(std::map<Rank, EventKeeper::Found>& found);
  std::vector<core::vprotocol::Dependency> unstable_dependencies(LocalRank& rank);
  bool may_leave(LocalRank& rank, LocalRank::UnstableOutput& output);
  bool on_known(Rank rank, Term term, std::uint64_t position) override;
  void on_news() override;
  void trim(Rank rank, EventKeeper::Found& found) override;
  const core::vprotocol::Cuts& cuts(Rank rank) override { return cuts_.of(rank); }

  // ---- agent_return.cpp: another head goes on for a lost one
  void on_head_lost();
  void on_head_back();
  AgentReport report() const;
  void send_output_again(LocalRank& rank, OutputStream stream);

  // ---- agent_bootstrap.cpp: BootstrapOwner
  Result<> may_join(int rank, pid_t process) override;
  Result<> may_have_past(int rank, pid_t process) override;
  void on_joined(int rank, pid_t process) override;
  wire::Welcome welcome(int rank) override;
  std::vector<int> ranks_of_machine() const;
  std::vector<wire::RankEntry> ranks() override;
  const std::vector<wire::CollectiveRule>& collective_rules() override { return job_.collective_rules; }
  int board_fd() override { return board_.read_only_fd(); }
  int own_control_fd(int rank) override;
  int doorbell_fd(int rank) override;
  SegmentStore& segments() override { return *segments_; }
  void on_exhausted(int rank, const wire::Exhausted& limits) override;
  void on_told(int rank, wire::BootstrapKind kind, Bytes payload) override;
  void on_fatal(int rank, const std::string& text) override;
  void on_stranger(const std::string& line) override { note(line); }

  // ---- agent_bootstrap.cpp: SegmentProvider
  Bytes control(Rank rank, Incarnation incarnation) override;
  Bytes segment(Rank rank, Incarnation incarnation, std::uint32_t index) override;
  bool is_final(Rank rank, Incarnation incarnation) override;
  bool make_stable(Rank rank, std::uint64_t events, TestClock failed) override;

  // Sent to the head and not yet out of the job. Where a later head may have to hear it again it is kept as long.
  static constexpr std::uint64_t output_window_bytes = 1u << 20, kept_output_window_bytes = 256 << 10;
  std::uint64_t output_window() const { return ticket_.head_returns_ms > 0 ? kept_output_window_bytes : output_window_bytes; }
  // Of a stream: beside what is under way, what the head's gate holds, what is read at once, and what a paused pipe gives when its rank dies.
  static constexpr std::size_t tail_bytes_min = kept_output_window_bytes + OutputGate::open_bytes_max + 3 * output_read_bytes;

  AgentTicket ticket_;
  os::EventLoop loop_;
  HeadLink head_;
  os::UniqueFd signals_;
  os::TcpListener log_listener_;
  BootstrapServer bootstrap_;
  Job job_;
  std::vector<std::uint16_t> machines_;   // by agent
  std::vector<std::uint16_t> sides_;      // by agent, while a partition is in force (fault injection)
  os::EventLoop::TimerId cut_ = 0;
  std::vector<wire::RankEntry> hosting_;  // where each rank is
  std::vector<bool> looked_up_;           // by rank: the head tells of it
  std::optional<EventFiles::Place> event_files_;  // until the keeper has it
  std::unique_ptr<EventKeeper> keeper_;  // null: determinants are kept on their own node alone
  std::deque<Adoption> adoptions_;  // the first is under way
  std::string adopt_failure_;       // why one could not be done, which ends the job
  std::string disk_failure_;        // why determinants cannot be kept, which does too
  // Protocol optimist: as the board says.
  core::vprotocol::CutTable cuts_;
  core::vprotocol::StableVector stable_;
  // What was found for the adoption under way, which goes on once everybody has been told where its ranks begin.
  std::map<Rank, EventKeeper::Found> found_;
  std::set<Rank> not_announced_;
  Board board_;
  std::uint64_t direct_from_ = 0;  // Welcome::direct_from_bytes
  std::unique_ptr<SegmentStore> segments_;
  std::unique_ptr<LogServer> log_server_;
  InputKeeper input_;
  std::uint64_t input_taken_ = 0;
  std::vector<std::unique_ptr<LocalRank>> ranks_;  // of this node, ascending
  std::vector<int> to_start_;                      // those that began here
  bool job_is_mpi_ = false;
  bool unfit_ = false;  // this node is of no use to the job
  bool ending_ = false, over_ = false, gone_ = false;  // over: nothing is left here, and the head knows
  os::EventLoop::TimerId grace_timer_ = 0;
  struct ToldEvent {
    Event event;
    std::vector<std::byte> text;
  };
  std::vector<ToldEvent> told_;  // of the ranks here, for a later head: a few an incarnation
  std::uint64_t output_unconfirmed_ = 0;
  bool output_paused_ = false;
};

// `holdfast agent`: reads its ticket from stdin. --under-slurm: a step that Slurm may have bound to one core, and signals.
int agent_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
