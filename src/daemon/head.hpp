// `holdfast run`: the head of a job. Starts the agents, joins them, passes on input and output, carries out injected
// faults, and decides how and with which exit code the job ends.
#pragma once
#include <map>
#include <set>

#include "daemon/agent_link.hpp"
#include "daemon/background.hpp"
#include "daemon/head_seat.hpp"
#include "daemon/input_reader.hpp"
#include "daemon/job_clients.hpp"
#include "daemon/job_output.hpp"
#include "daemon/kill_plan.hpp"
#include "daemon/options.hpp"
#include "daemon/rank_stdio.hpp"
#include "daemon/timeline.hpp"
#include "daemon/watch/watching.hpp"
#include "wire/points.hpp"

namespace hf::daemon {

class Head {
 public:
  // Without `background`: with this process's stdin and output.
  Head(RunOptions options, HeadSeat seat, std::unique_ptr<Background> background = nullptr);
  int run();  // an exit code

 private:
  void greet();
  void on_signals();
  void on_output_broken(const std::string& why);
  void look_for_absent();
  void interrupt(int signal, bool now);
  void pass_signal(int signal);
  void stop_here();
  void on_children();
  void on_all_joined();
  void on_agent_lost(int node, std::uint32_t silent_ms);
  void on_agent_gone(int node);
  void on_frame(int node, ControlKind kind, Bytes payload);
  void on_ready(int node, Bytes payload);
  void on_output(Bytes payload);
  void on_event(int node, Bytes payload);
  void on_sample(int node, Bytes payload);
  bool set_state(const Event& event, wire::RankState state);
  void on_rank_event(const Event& event, Bytes text, bool retold);
  void on_note(const Event& event, Bytes text, bool retold);
  void on_unprotect(const Event& event, std::string_view function);
  void on_unprotected_death(int rank);
  bool died_before_unprotected(const Event& started) const;
  BoardChange change_of(int rank);
  void publish(int rank);
  void tell_watchers(int rank);
  void on_look_up(int node, Bytes payload);
  void give_input(Bytes bytes);
  Result<> serve_metrics();

  // ---- head_resume.cpp: it goes on for a head that is lost (docs/head-loss.md)
  void keep(int rank);
  void recall(int rank);
  void keep_past(int rank);
  void recall_lost_nodes();
  void lose_missing(int node);
  Result<> resume();
  void on_report(int node, Bytes payload);
  void on_hosted(int node, const HostedRank& hosted);
  void on_output_again(Bytes payload);
  void on_reported(int node);
  void resume_when_all_reported();
  void resume_over();
  void start_unclaimed();
  void take_leave(const std::vector<int>& missing);

  // ---- head_clients.cpp: other commands of the user
  void open_door();
  Json status() const;
  Json record() const;
  bool all_started() const;
  void on_attached(bool terminal, bool input);
  void start_input();
  void on_input_taken(std::uint64_t bytes);
  void keep_end();

  // ---- head_nodes.cpp: agents that come, go silent and are lost, and who has whose determinants
  struct Hosting {
    int agent = 0;
    std::uint32_t incarnation = 0;  // newest that was heard of, or given
    wire::RankState state = wire::RankState::absent;  // of the newest that was heard of
    Address listens;                // where that one does; port 0: not yet
    std::vector<int> watchers;      // agents of which ranks wanted to reach it
    std::uint32_t term = 0;
    std::uint32_t log_base = 0;
    int group = 0;
    core::event_logger::Places places;  // of its determinants
    bool moving = false;       // it is being taken over
    bool claimed = false;      // to a head that goes on: some agent hosts it, or has been told to
    std::uint32_t rolled_back_term = 0;  // protocol optimist: of the last hosting that began with a rollback
  };
  using EventCopy = core::event_logger::Holding::Copy;
  struct AgentState {
    bool ready = false;            // to start its ranks
    bool gone = false;             // lost, or all its processes have ended
    bool unfit = false;            // of no use at the start, or could not take ranks over when it was asked to
    core::event_logger::Holding held;  // its ranks' determinants, by whom
    int standby = -1;
    std::set<int> full;            // holders whose memory was full for it
    bool reported = false;         // to a head that goes on: all that it has to say
    bool superseded = false;       // its ranks run elsewhere
    std::optional<std::string> lost_early;  // before the others had reported: why
  };
  Hosting& hosting(int rank) { return hosting_[static_cast<std::size_t>(rank)]; }
  int agent_of(int rank) const { return hosting_[static_cast<std::size_t>(rank)].agent; }
  std::vector<int> ranks_at(int agent) const;
  std::vector<int> agents_with_ranks() const;
  bool strike(int agent, std::int64_t pause_ns);
  bool hold_events(int agent, std::int64_t for_ns);
  bool disk_fault(int agent, std::int64_t for_ns);
  bool usable(int agent) const {
    const AgentState& state = states_[static_cast<std::size_t>(agent)];
    return !state.gone && !state.unfit && !state.lost_early && agents_.is_alive(agent);
  }
  bool partition(const Injection& injection);
  void start_if_ready();
  void lose_places(int agent);
  core::event_logger::Told told(const Hosting& hosting) const;
  void settle_held(int agent);
  void lose_agent(int agent, const std::string& why);
  std::string why_not_moved(const std::vector<int>& ranks) const;
  int choose_spare() const;
  std::map<int, std::vector<int>> choose_targets(const std::vector<int>& ranks) const;
  void move_ranks(const std::vector<int>& ranks, int to);
  void feed_input();
  void mark_lost(int rank);
  int choose_holder(int agent, const std::set<int>& not_these) const;
  void give_holders(int agent);
  void give_holder(int agent, std::size_t copy, int not_this);
  void tell_holder(int agent, std::size_t copy);
  void say_lack(int agent);
  void on_held(int agent, Bytes payload);
  void on_adopted(int agent, Bytes payload);
  void on_unfit_at_start(int agent, std::string_view why, int exit_code);
  Result<> make_event_directory();
  void remove_event_directory();
  void on_disk_failed(int agent, Bytes text);
  void on_adopt_unfit(int agent, Bytes payload);
  std::string why_no_target() const;
  std::string what_it_was(int agent) const;
  void on_holder_lost(int agent, Bytes payload);
  void on_adopt_failed(int agent, Bytes text);
  // ---- head_orphans.cpp: protocol optimist (docs/optimist.md)
  bool announce_cut(const EventsCut& cut);
  void keep_cut(const EventsCut& cut);
  void recall_cuts();
  void announce_all_again();
  void on_begun(int agent, Bytes payload);
  void on_orphan(int agent, Bytes payload);
  bool begin_rollback(const Orphan& orphan);
  void revive(int rank);
  void point(wire::HeadPoint passed);
  void end(int exit_code, std::uint32_t grace_ms);
  void finish_if_over();
  int finish();
  enum class Asked { no, yes };  // by the user, whose job has failed without it
  void write(const std::string& path, const std::string& text, Asked asked = Asked::yes);

  static constexpr std::uint32_t grace_ms = 2000;  // between SIGTERM and SIGKILL

  RunOptions options_;
  Job& job_;
  os::EventLoop loop_;
  HeadFacts* facts_;     // null: nobody goes on for this head
  std::uint32_t epoch_;  // its number
  bool resuming_ = false;
  std::vector<EventsCut> cuts_;  // announced, protocol optimist
  std::vector<std::pair<int, Orphan>> orphans_told_;  // by which agents, while resuming
  Instant interrupted_at_{};
  bool signal_told_ = false;
  std::map<int, Instant> passed_at_;  // signals of the user
  std::set<std::string> notes_said_;  // of ranks, each once
  std::unique_ptr<Background> background_;
  os::UniqueFd signals_;
  JobOutput output_;
  InputReader input_;
  AgentLinks agents_;
  Timeline timeline_;
  KillPlan kills_;
  Watching watching_;
  std::unique_ptr<JobClients> clients_;
  std::vector<Address> logs_;          // where agents serve them
  std::vector<std::string> machines_;  // that the agents are on
  bool started_ = false;
  std::vector<bool> rank_over_, rank_initialized_, rank_in_world_;  // in any incarnation; in_world: by MPI_Init
  std::vector<Hosting> hosting_;      // by rank
  std::vector<AgentState> states_;    // by agent
  InputKeeper input_kept_;            // all that was given to rank 0, should it start elsewhere
  std::uint64_t input_taken_ = 0;
  std::uint64_t input_fed_ = 0;       // of it, to the agent that has rank 0 now
  bool input_end_fed_ = false;
  os::EventLoop::TimerId feed_ = 0;
  int groups_ = 0;                    // given so far
  os::EventLoop::TimerId heal_ = 0;   // a partition is in force
  std::vector<std::optional<wire::UnprotectReason>> rank_unprotected_;
  bool threads_told_ = false;  // that a rank is unprotected since several threads call MPI
  int ranks_over_ = 0, ranks_initialized_ = 0, nodes_gone_ = 0;
  bool mpi_job_announced_ = false;
  bool forced_ = false;  // the agents did not end in time
  bool ending_ = false, ended_ = false, interrupted_ = false;
  std::optional<int> exit_code_;
  os::EventLoop::TimerId deadline_ = 0;
};

// Before a job, which may take hours: whether the files can be written that the user wants of it.
Result<> try_files(const RunOptions& options);

// `holdfast run`, `mpirun`, `mpiexec`: `arguments` without the command's name.
int run_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
