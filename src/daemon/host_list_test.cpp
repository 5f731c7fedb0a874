#include "daemon/host_list.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

std::string error_of(const Result<std::vector<Host>>& result) {
  return result ? "no error" : result.error().text;
}

TEST(HostList, Hosts) {
  EXPECT_EQ(*parse_hosts("a:4,u@b,a"), (std::vector<Host>{{"a", 5}, {"u@b", slots_not_said}}));
  EXPECT_EQ(error_of(parse_hosts("a:x")), "'a:x': after the colon comes the number of slots, from 1 on (as in a:4)");
  EXPECT_EQ(error_of(parse_hosts("a:0")), "'a:0': after the colon comes the number of slots, from 1 on (as in a:4)");
  EXPECT_EQ(error_of(parse_hosts("-oProxyCommand=x")), "'-oProxyCommand=x' is not a host (as in a, a:4 or user@a:4)");
  EXPECT_EQ(error_of(parse_hosts(",")), "no host is named (as in --hosts a:4,b:4)");
}

TEST(HostList, HostfileOfBothKinds) {
  EXPECT_EQ(*parse_hostfile("# ours\na slots=4 max_slots=8 # fast\n\nb:2\r\nc\n", "f"),
            (std::vector<Host>{{"a", 4}, {"b", 2}, {"c", slots_not_said}}));
  EXPECT_EQ(error_of(parse_hostfile("a\nb cores=2\n", "f")), "f:2: 'cores=2' is not understood (as in: a slots=4)");
  EXPECT_EQ(error_of(parse_hostfile("# only this\n", "f")), "f names no host");
}

TEST(HostList, MapBy) {
  bool share = false;
  EXPECT_EQ(parse_map_by("node", share)->kind, MapBy::Kind::node);
  EXPECT_EQ(parse_map_by("slot", share)->kind, MapBy::Kind::slot);
  EXPECT_EQ(parse_map_by("ppr:3:node", share)->count, 3);
  EXPECT_FALSE(share);
  EXPECT_EQ(parse_map_by("node:OVERSUBSCRIBE", share)->kind, MapBy::Kind::node);
  EXPECT_TRUE(share);
  for (const char* wrong : {"core", "ppr:0:node", "ppr:2:socket", "ppr"}) {
    EXPECT_EQ(parse_map_by(wrong, share).error().text, std::string("--map-by ") + wrong + ": node, slot or ppr:N:node");
  }
}

}  // namespace
}  // namespace hf::daemon
