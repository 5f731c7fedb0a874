// What a job is: made by the command line, given by the head to every agent.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "core/event_logger/places.hpp"
#include "daemon/injection.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

inline constexpr int job_ranks_max = 4096;

struct Program {
  int count = 1;
  std::string path;                      // found; absolute or relative to the working directory
  std::vector<std::string> arguments;    // with argv[0]
  std::vector<std::string> environment;  // NAME=value, complete but for what differs between ranks
  std::string working_directory;         // absolute
};

// Payloads too large for a frame inside a node: as Welcome::direct_from_bytes, of which these are the extremes.
enum class LargeMessages : std::uint32_t { measured = 0, direct, copied };

enum class BindTo : std::uint32_t { none = 0, core, socket };

inline constexpr std::uint64_t log_memory_of_machine = UINT64_MAX;  // a share of what the machine has (Agent::choose_log_memory)
inline constexpr std::uint64_t log_memory_least = 32 << 20;         // of that
inline constexpr std::uint64_t log_disk_unlimited = UINT64_MAX / 2;             // as much as is free
inline constexpr std::uint64_t log_disk_reserve_bytes = 512u << 20;              // stays free on the file system

inline constexpr int event_copies_max = core::event_logger::copies_max;

struct JobNode {
  std::string name;  // what MPI_Get_processor_name says of it; also after a rank has moved
};

struct Job {
  std::vector<Program> programs;
  int node_count = 1;                      // with ranks
  int spare_count = 0;                     // agents without ranks, numbered behind the nodes
  int event_logger_count = 0;              // agents that hold events and do nothing else, numbered behind those
  std::vector<JobNode> nodes;              // by number of agent
  std::vector<std::int32_t> node_of_rank;  // the original map (placement.hpp)
  BindTo bind_to = BindTo::none;
  bool oversubscribe = false;  // ranks may share cores that they are bound to
  bool report_bindings = false;
  wire::Protocol protocol = wire::Protocol::pessimist;
  bool sender_log = true;      // false: determinants are logged and payloads are not, for measurements (--no-sender-log)
  wire::LogLevel log_level = wire::LogLevel::process;
  bool names_process = false;     // the level was said as process+...: how it is shown
  std::string event_directory;    // level `disk`: of this job alone, made by the head
  std::uint64_t event_key = 0;    // stands in all its files
  LargeMessages large_messages = LargeMessages::measured;
  std::uint64_t eager_bytes = 0;        // between nodes, larger payloads are announced first; 0: as suits (Agent::welcome)
  std::int64_t started_ns = 0;          // of the real-time clock
  bool divergence_is_fatal = true;
  bool records_libc = true;            // ranks have the recorder preloaded, if the protocol logs
  bool orders_threads = false;         // of all programs, not only of those that asked for MPI_THREAD_SERIALIZED
  int restarts_max = 20;               // per rank
  std::uint64_t log_memory_bytes = 0;  // per rank, or log_memory_of_machine
  std::uint64_t log_disk_bytes = 0;    // per rank, beyond memory
  std::uint64_t event_memory_bytes = 1ull << 30;  // that an agent holds of other agents' events
  int event_copies = 1;                           // holders that must have an event before it is stable
  std::uint64_t log_ready_bytes = 0;   // per rank, of memory: mapped and touched before its first call
  std::string log_directory;
  std::vector<wire::CollectiveRule> collective_rules;  // given by the user
  std::vector<Injection> injections;

  int agent_count() const { return node_count + spare_count + event_logger_count; }
  bool is_event_logger(int agent) const { return agent >= node_count + spare_count; }
  bool recovers() const { return protocol != wire::Protocol::none && sender_log; }
  bool keeps_events() const { return protocol != wire::Protocol::none && log_level != wire::LogLevel::process; }
  bool keeps_on_nodes() const { return keeps_events() && wire::includes(log_level, wire::LogLevel::node); }
  bool keeps_on_disk() const { return keeps_events() && wire::includes(log_level, wire::LogLevel::disk); }
  // Under optimist also those whose determinants are on disk tell what is stable to another agent, and hear it from there.
  bool has_holders() const { return keeps_on_nodes() || is_optimist(); }
  std::string log_level_name() const;
  const char* protocol_name() const {
    return protocol == wire::Protocol::none ? "none" : protocol == wire::Protocol::optimist ? "optimist" : "pessimist";
  }
  // At level `process` every event is stable when it is written, and the protocols are the same.
  bool is_optimist() const { return protocol == wire::Protocol::optimist && keeps_events(); }
  int rank_count() const;
  int program_of(int rank) const;
  int node_of(int rank) const { return node_of_rank[static_cast<std::size_t>(rank)]; }
  const std::string& node_name(int node) const { return nodes[static_cast<std::size_t>(node)].name; }
  // Of the ranks of its node by the original map, ascending: how many come before it, and how many there are.
  int local_rank(int rank) const;
  int local_size(int node) const;
};

void encode(const Job& job, std::vector<std::byte>& out);
bool decode(Bytes in, Job& job);

}  // namespace hf::daemon
