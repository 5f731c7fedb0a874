// One run of the simulated job: ranks with their program, nodes, and the faults that strike them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/board.hpp"
#include "sim/job/timing.hpp"

namespace hf::sim::job {

// Where an event must be before it is stable (docs/events.md, Levels); any: drawn.
enum class Level : std::uint8_t { process, node, disk, node_and_disk, any };

enum class Workload : std::uint8_t { ring, stencil, wavefront, farm, traffic, mixed, reductions, any };

struct Fault {
  enum Kind : std::uint8_t {
    kill, kill_at_point, kill_again, lose_connection,
    lose_node, lose_related, pause_node, lose_holder_connection,  // above level process
    slow_holder,                                                  // the same; drawn only where it is named
    disk_stands_still, disk_fails, disk_damage,                   // where there are files
    strike_rollback,                                              // under optimist
    diverge,                                                      // above level process; never drawn
  } kind;
  static constexpr int kinds = diverge + 1;
  std::uint64_t at = 0;      // number of the event before which it strikes
  std::uint64_t choice = 0;  // of whom
};

struct JobOptions {
  int ranks = 4;
  int nodes = 2, spares = 1;
  int event_loggers = -1;             // numbered behind these; -1: drawn
  int event_copies = 0;               // nodes that hold each event; 0: drawn
  int agents() const { return nodes + spares + event_loggers; }
  bool is_event_logger(int agent) const { return agent >= nodes + spares; }
  Level level = Level::any;
  bool keeps_events() const { return level != Level::process; }  // where they outlive a node
  bool on_nodes() const { return level == Level::node || level == Level::node_and_disk; }
  bool on_disk() const { return level == Level::disk || level == Level::node_and_disk; }
  bool optimist = false;              // at level process everything is stable when it is written: it is pessimist there
  bool optimistic() const { return optimist && keeps_events(); }
  bool has_holders() const { return on_nodes() || optimistic(); }  // under optimist they tell what is stable, if nothing else
  Workload workload = Workload::any;  // any: drawn
  int steps = 10;                     // of the program
  int faults = 3;
  std::vector<Fault::Kind> kinds;     // of them; empty: all that the level is for
  std::vector<int> only;              // of the faults drawn; empty: all
  std::uint64_t seed = 1;
  // Of events on their way to a holder or a disk. In every other run a piece ends within an event.
  bool in_pieces() const { return !timing && seed % 2 == 1; }
  std::uint64_t in_flight_bytes_max() const { return in_pieces() ? 40 : 4 << 20; }
  std::uint64_t append_bytes_max() const { return in_pieces() ? 40 : 256 << 10; }
  std::optional<Timing> timing;       // then `workload` is of no account, and nothing fails
};

struct JobOutcome {
  std::vector<std::string> violations;
  std::vector<std::uint64_t> results;   // of the programs
  std::string ended;                    // by a rule: determinants were lost with several nodes, or the disk failed
  std::uint64_t events = 0, messages = 0, deaths = 0, moves = 0;
  std::uint64_t rollbacks = 0, orphaned_messages = 0, waits_for_terms = 0;  // under optimist
  std::int64_t finished_ns = 0;         // when the last rank had
  std::uint64_t determinants = 0, dependency_frames = 0, dependency_bytes = 0;
  bool diverged = false, reported = false;  // a replay has sent something else; a receiver has said so
};

// What the seed leaves to be drawn is drawn.
JobOptions drawn(JobOptions options);
bool send_deterministic(Workload workload);
const char* name_of(Workload workload);
const char* name_of(Level level);

std::vector<Fault> plan_faults(const JobOptions& options, std::uint64_t events);
const char* name_of(Fault::Kind kind);
std::string describe(const Fault& fault);

JobOutcome run_job(const JobOptions& options, const std::vector<Fault>& faults);

// Without faults, and again with them: the results must be the same where they do not depend on the order of messages.
struct SeedOutcome {
  JobOutcome faulty;
  std::vector<Fault> faults;  // as drawn
};
SeedOutcome run_seed(const JobOptions& options);
// Of the faults of a seed that fails: fewer with which it still does.
std::vector<int> shrink(JobOptions options, const SeedOutcome& failed);

}  // namespace hf::sim::job
