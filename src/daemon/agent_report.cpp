#include "daemon/agent_report.hpp"

#include <algorithm>

namespace hf::daemon {
namespace {

int rank_of(const HostedRank& rank) { return rank.rank; }
int rank_of(const HeardRank& rank) { return rank.rank; }
int rank_of(std::int32_t rank) { return rank; }

template <class T>
bool take(ByteReader& in, std::int32_t count, int rank_count, std::vector<T>& out) {
  if (count < 0 || count > rank_count || in.left() / sizeof(T) < static_cast<std::size_t>(count)) return false;
  std::vector<bool> seen(static_cast<std::size_t>(rank_count));
  for (std::int32_t i = 0; i < count; ++i) {
    const T one = in.get<T>();
    const int rank = rank_of(one);
    if (rank < 0 || rank >= rank_count || seen[static_cast<std::size_t>(rank)]) return false;
    seen[static_cast<std::size_t>(rank)] = true;
    out.push_back(one);
  }
  return true;
}

}  // namespace

void encode(const AgentReport& report, std::vector<std::byte>& bytes) {
  AgentReport::Head head = report.head;
  head.hosted_count = static_cast<std::int32_t>(report.hosted.size());
  head.heard_count = static_cast<std::int32_t>(report.heard.size());
  head.sought_count = static_cast<std::int32_t>(report.sought.size());
  ByteWriter out(bytes);
  out.put(head);
  for (const HostedRank& rank : report.hosted) out.put(rank);
  for (const HeardRank& rank : report.heard) out.put(rank);
  for (std::int32_t rank : report.sought) out.put(rank);
}

std::optional<AgentReport> decode_report(Bytes bytes, int rank_count) {
  AgentReport out;
  ByteReader in(bytes);
  out.head = in.get<AgentReport::Head>();
  const AgentReport::Head& head = out.head;
  if (!in.ok() || !take(in, head.hosted_count, rank_count, out.hosted) || !take(in, head.heard_count, rank_count, out.heard) ||
      !take(in, head.sought_count, rank_count, out.sought) || in.left() != 0) {
    return std::nullopt;
  }
  return out;
}

}  // namespace hf::daemon
