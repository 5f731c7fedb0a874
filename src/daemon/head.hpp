// `holdfast run`: the head of a job. Starts the agents, joins them, passes on input and output, carries out injected
// faults, and decides how and with which exit code the job ends.
#pragma once
#include "daemon/agent_link.hpp"
#include "daemon/input_reader.hpp"
#include "daemon/job_output.hpp"
#include "daemon/kill_plan.hpp"
#include "daemon/options.hpp"
#include "daemon/timeline.hpp"

namespace hf::daemon {

class Head {
 public:
  explicit Head(RunOptions options);
  int run();  // an exit code

 private:
  void greet();
  void on_signals();
  void on_children();
  void on_agent_joined(int node);
  void on_agent_lost(int node);
  void on_frame(int node, ControlKind kind, Bytes payload);
  void on_ready(int node, Bytes payload);
  void on_output(Bytes payload);
  void on_event(int node, Bytes payload);
  void on_rank_event(const Event& event, Bytes text);
  void on_note(const Event& event, Bytes text);
  void on_unprotect(const Event& event, std::string_view function);
  void on_unprotected_death(int rank);
  void publish(const Event& event, wire::RankState state, std::uint64_t address_and_port);
  void end(int exit_code, std::uint32_t grace_ms);
  void finish_if_over();
  int finish();
  void write_file(const std::string& path, const std::string& text);

  static constexpr std::uint32_t grace_ms = 2000;  // between SIGTERM and SIGKILL

  RunOptions options_;
  Job& job_;
  os::EventLoop loop_;
  os::UniqueFd signals_;
  JobOutput output_;
  InputReader input_;
  AgentLinks agents_;
  Timeline timeline_;
  KillPlan kills_;
  std::vector<wire::NodeEntry> nodes_;
  std::vector<std::string> machines_;  // that the agents are on
  int ready_ = 0;
  std::vector<bool> rank_over_, rank_initialized_, node_gone_;
  std::vector<std::optional<wire::UnprotectReason>> rank_unprotected_;
  bool threads_told_ = false;  // that a rank is unprotected since several threads call MPI
  int ranks_over_ = 0, ranks_initialized_ = 0, nodes_gone_ = 0;
  bool mpi_job_announced_ = false;
  bool ending_ = false, ended_ = false, interrupted_ = false;
  std::optional<int> exit_code_;
  os::EventLoop::TimerId deadline_ = 0;
};

// `holdfast run`, `mpirun`, `mpiexec`: `arguments` without the command's name.
int run_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
