// What a job is: made by the command line, given by the head to every agent.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "daemon/injection.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

struct Program {
  int count = 1;
  std::string path;                      // found; absolute or relative to the working directory
  std::vector<std::string> arguments;    // with argv[0]
  std::vector<std::string> environment;  // NAME=value, complete but for what differs between ranks
  std::string working_directory;         // absolute
};

// Payloads too large for a frame inside a node: as Welcome::direct_from_bytes, of which these are the extremes.
enum class LargeMessages : std::uint32_t { measured = 0, direct, copied };

struct Job {
  std::vector<Program> programs;
  int node_count = 1;
  int spare_count = 0;  // agents without ranks, numbered behind the nodes
  wire::Protocol protocol = wire::Protocol::pessimist;
  wire::LogLevel log_level = wire::LogLevel::process;
  LargeMessages large_messages = LargeMessages::measured;
  std::uint64_t eager_bytes = 1 << 20;  // between nodes, larger payloads are announced first; lower with many ranks
  bool divergence_is_fatal = true;
  int restarts_max = 20;               // per rank
  std::uint64_t log_memory_bytes = 0;  // per rank
  std::uint64_t log_disk_bytes = 0;    // per rank, beyond memory
  std::uint64_t event_memory_bytes = 1ull << 30;  // that an agent holds of other agents' events
  std::uint64_t log_ready_bytes = 0;   // per rank, of memory: mapped and touched before its first call
  std::string log_directory;
  std::vector<wire::CollectiveRule> collective_rules;  // given by the user
  std::vector<Injection> injections;

  int agent_count() const { return node_count + spare_count; }
  bool keeps_events() const { return protocol == wire::Protocol::pessimist && log_level == wire::LogLevel::node; }
  int rank_count() const;
  int program_of(int rank) const;
  // Ranks are dealt out in contiguous blocks, the first ones larger by one where it does not divide.
  int node_of(int rank) const;
};

void encode(const Job& job, std::vector<std::byte>& out);
bool decode(Bytes in, Job& job);

}  // namespace hf::daemon
