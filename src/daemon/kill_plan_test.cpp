#include "daemon/kill_plan.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace hf::daemon {
namespace {

class KillsOfRanks : public ::testing::Test {
 protected:
  void event(EventKind kind, int rank, std::uint32_t incarnation, std::uint64_t a = 0, std::uint64_t b = 0) {
    timeline_.on_event({kind, rank, incarnation, 0, 1'000'000, a, b}, {});
  }
  std::vector<std::string> said(std::string_view words, bool first_head = true) {
    std::vector<Injection> injections;
    EXPECT_TRUE(parse_injections(words, 3, 1, injections)) << words;
    os::EventLoop loop;
    return KillPlan(loop, injections, 3, {}).not_carried_out(timeline_, first_head);
  }
  Timeline timeline_{3, Instant(0)};
};

TEST_F(KillsOfRanks, AreSaidWhereTheyNeverCame) {
  for (int rank = 0; rank < 3; ++rank) event(EventKind::started, rank, 0);
  event(EventKind::died, 1, 0, SIGKILL, 17);
  event(EventKind::died, 2, 0, SIGSEGV, 5);
  using Lines = std::vector<std::string>;
  EXPECT_EQ(said("kill:rank=0,call=3;kill:rank=0,point=send.logged:2;kill:rank=1,call=17"),
            (Lines{"kill:rank=0,call=3 was not carried out: its first incarnation has not made so many MPI calls",
                   "kill:rank=0,point=send.logged:2 was not carried out: its first incarnation did not pass that point so often"}));
  EXPECT_EQ(said("kill:rank=1,point=send.logged;kill:random,rate=1/s;covered:calls=3"), Lines());
  EXPECT_EQ(said("kill:rank=2,call=9").size(), 1u);
  EXPECT_EQ(said("head,point=cut.kept:2"), Lines{"head,point=cut.kept:2 was not carried out: the head did not pass that point so often"});
}

TEST_F(KillsOfRanks, AreNotSaidWhereAHeadBeforeMayKnowMore) {
  event(EventKind::started, 0, 0);
  event(EventKind::started, 1, 1);  // its first incarnation is not known
  EXPECT_EQ(said("kill:rank=0,call=3", false).size(), 1u);
  EXPECT_EQ(said("kill:rank=1,call=3;kill:rank=2,call=3;head,point=cut.kept", false).size(), 0u);
}

}  // namespace
}  // namespace hf::daemon
