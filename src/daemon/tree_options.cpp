#include "daemon/tree_options.hpp"

#include <fmt/format.h>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

struct Range {
  const char* name;
  int value, least, most;
  const char* unit;
};

// Beyond any job: silence counts for nothing.
constexpr std::int64_t never_ns = std::int64_t{3650} * 24 * 3600 * os::second_ns;

}  // namespace

void declare(CLI::App& app, TreeWords& words) {
  app.add_option("--node-timeout", words.node_timeout_ms,
                 "a node is lost after so many ms without a sign of life; after half of that where its signs came regularly (default 800)");
  app.add_option("--agent-timeout", words.agent_timeout_ms,
                 "the same, in ms, where its host answers and its agent does not: so busy, or stopped (default: one and a half times --node-timeout)");
  app.add_option("--heartbeat", words.heartbeat_ms, "ms between two signs of life (default 100)");
  app.add_option("--cut-off", words.cut_off_s, "a node that hears nothing of the job ends its ranks after so many seconds (default 60)");
  app.add_option("--fan-out", words.fan_out, "of the tree in which the nodes are joined (default 32)");
}

Result<TreeSettings> tree_settings(const TreeWords& words, int agents, bool watched) {
  for (const Range& r : {Range{"--node-timeout", words.node_timeout_ms, 300, 60'000, " ms"}, Range{"--heartbeat", words.heartbeat_ms, 10, 10'000, " ms"},
                         Range{"--cut-off", words.cut_off_s, 1, 1'000'000, " s"}, Range{"--fan-out", words.fan_out, 2, 1024, ""}}) {
    if (r.value < r.least) return fail(fmt::format("{} {}: {}{} or more", r.name, r.value, r.least, r.unit));
    if (r.value > r.most) return fail(fmt::format("{} {}: at most {}{}", r.name, r.value, r.most, r.unit));
  }
  if (words.heartbeat_ms * 3 > words.node_timeout_ms) {
    return fail(fmt::format("--heartbeat {}: at most a third of --node-timeout ({} ms)", words.heartbeat_ms, words.node_timeout_ms));
  }
  if (words.agent_timeout_ms != 0 && (words.agent_timeout_ms < words.node_timeout_ms || words.agent_timeout_ms > 600'000)) {
    return fail(fmt::format("--agent-timeout {}: from --node-timeout ({} ms) to 600000 ms", words.agent_timeout_ms, words.node_timeout_ms));
  }
  TreeSettings out;
  out.agents = agents;
  out.tree.fan_out = words.fan_out;
  auto& m = out.membership;
  m.heartbeat_ns = words.heartbeat_ms * os::millisecond_ns;
  m.silence_ceiling_ns = watched ? words.node_timeout_ms * os::millisecond_ns : never_ns;
  m.silence_floor_ns = m.silence_ceiling_ns / 2;
  m.agent_silence_ns = words.agent_timeout_ms != 0 && watched ? words.agent_timeout_ms * os::millisecond_ns : m.silence_ceiling_ns / 2 * 3;
  m.contact_ns = m.silence_ceiling_ns / 4 * 3;  // with the way on which its address is learned
  m.silent_parent_ns = watched ? words.cut_off_s * os::second_ns : never_ns;
  return out;
}

}  // namespace hf::daemon
