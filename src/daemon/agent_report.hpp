// How things stand at an agent, for a head that goes on for a lost one: ControlKind::report. Pure.
#pragma once
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "daemon/control_messages.hpp"

namespace hf::daemon {

struct HostedRank {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;  // the newest
  std::uint32_t term = 0;         // of the hosting
  std::int32_t group = 0;         // wire::RankEntry::group
  std::uint32_t log_base = 0;     // the first incarnation whose log is kept here
};
struct HeardRank {  // of a rank hosted elsewhere
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;  // the newest that was heard of
};
struct AgentReport {
  struct Head {
    Address logs;                   // where it serves them
    char machine[40] = {};          // as in Ready
    std::uint32_t generation = 0;   // of its holder
    std::uint32_t unfit = 0;        // 1: of no use since the start
    std::uint32_t over = 0;         // 1: all its processes have ended, as it was told
    std::uint32_t ending = 0;       // 1: it was told so
    std::uint64_t input_bytes = 0;  // of stdin that have come here for rank 0
    std::uint64_t input_taken = 0;  // of them passed on to it
    std::uint32_t input_ended = 0;  // 1: that was all
    std::uint32_t reserved = 0;
    std::int32_t hosted_count = 0, heard_count = 0, sought_count = 0, reserved_count = 0;
  } head;
  std::vector<HostedRank> hosted;
  std::vector<HeardRank> heard;
  std::vector<std::int32_t> sought;  // ranks whose addresses were looked up
};

void encode(const AgentReport& report, std::vector<std::byte>& out);  // the counts are those of the lists
// Nothing: not of an agent of a job with so many ranks; each at most once in a list.
std::optional<AgentReport> decode_report(Bytes in, int rank_count);

}  // namespace hf::daemon
