#include "daemon/injection.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

TEST(Injections, CoverAllRanksOrOne) {
  std::vector<Injection> out;
  ASSERT_TRUE(parse_injections("covered:calls=20;covered:rank=3,calls=5", 4, 1, out));
  EXPECT_EQ(out[0].kind, Injection::Kind::covered);
  EXPECT_EQ(out[0].call, 20u);
  EXPECT_EQ(out[0].rank, -1);
  EXPECT_EQ(out[1].rank, 3);
  for (const char* bad : {"covered:", "covered:calls=0", "covered:rank=1", "covered:calls=5,rank=4", "covered:calls=5,rank=-1", "covered:calls=5,at=1s"}) {
    EXPECT_FALSE(parse_injections(bad, 4, 1, out)) << bad;
  }
}

TEST(Injection, OfNodes) {
  std::vector<Injection> out;
  ASSERT_TRUE(parse_injections("node:2,at=1s;pause:node=1,at=2ms,for=3s;node:random,rate=0.5,seed=7,max=2;unshared:node=2,at=1s,for=5ms;"
                               "disk:node=1,at=1s;disk:node=0,at=2s,for=1s", 4, 3, out));
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(out[0].kind, Injection::Kind::node);
  EXPECT_EQ(out[0].node, 2);
  EXPECT_EQ(out[0].at_ns, 1'000'000'000);
  EXPECT_EQ(out[1].kind, Injection::Kind::pause);
  EXPECT_EQ(out[1].for_ns, 3'000'000'000);
  EXPECT_EQ(out[2].kind, Injection::Kind::node_random);
  EXPECT_EQ(out[2].kills_max, 2u);
  EXPECT_EQ(out[3].kind, Injection::Kind::unshared);
  EXPECT_EQ(out[3].for_ns, 5'000'000);
  EXPECT_EQ(words_of(out[3]), "unshared:node=2,at=1s");
  EXPECT_EQ(out[4].kind, Injection::Kind::disk);
  EXPECT_EQ(out[4].for_ns, 0);
  EXPECT_EQ(out[5].for_ns, 1'000'000'000);
  EXPECT_EQ(words_of(out[5]), "disk:node=0,at=2s");
  for (const char* bad : {"disk:node=3,at=1s", "disk:1,at=1s", "node:3,at=1s", "node:1", "node:at=1s", "pause:node=1,at=1s", "pause:1,at=1s,for=1s", "node:1,at=1s,for=2s",
                          "unshared:node=1,at=1s", "unshared:node=3,at=1s,for=1s"}) {
    EXPECT_FALSE(parse_injections(bad, 4, 3, out)) << bad;
  }
}

TEST(Injection, Partitions) {
  std::vector<Injection> out;
  ASSERT_TRUE(parse_injections("partition:0,1|3,2,at=1s,for=500ms;partition:0|1|2,for=1s,at=2s", 4, 5, out));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].kind, Injection::Kind::partition);
  EXPECT_EQ(out[0].side_of, (std::vector<std::uint16_t>{0, 0, 1, 1, 0}));
  EXPECT_EQ(out[0].at_ns, 1'000'000'000);
  EXPECT_EQ(out[0].for_ns, 500'000'000);
  EXPECT_EQ(out[1].side_of, (std::vector<std::uint16_t>{0, 1, 2, 0, 0}));
  EXPECT_EQ(words_of(out[1]), "partition:0,3,4|1|2,at=2s");
  for (const char* bad : {"partition:0,1,at=1s,for=1s", "partition:0|,at=1s,for=1s", "partition:|0,at=1s,for=1s",
                          "partition:0|5,at=1s,for=1s", "partition:0|0,at=1s,for=1s", "partition:0|1,at=1s", "partition:0|1,for=1s", "partition:0|1,at=1s,at=1s,for=1s",
                          "partition:at=1s,for=1s", "partition:0|1", "partition:0|x,at=1s,for=1s", "partition:0|1,at=1s,for=1s,rank=2",
                          "partition:0||1,at=1s,for=1s", "partition:,at=1s,for=1s", "partition:0|-1,at=1s,for=1s"}) {
    EXPECT_FALSE(parse_injections(bad, 4, 5, out)) << bad;
  }
}

TEST(Injection, Words) {
  std::vector<Injection> out;
  ASSERT_TRUE(parse_injections("kill:rank=2,at=1.5s;kill:rank=0,call=17;kill:rank=1,point=rendezvous.seen:3", 4, 3, out));
  ASSERT_TRUE(parse_injections("kill:rank=3,at=20ms", 4, 3, out));
  ASSERT_TRUE(parse_injections("kill:random,rate=4/s,seed=9,max=5", 4, 3, out));
  ASSERT_EQ(out.size(), 5u);
  EXPECT_EQ(out[0].rank, 2);
  EXPECT_EQ(out[0].at_ns, 1'500'000'000);
  EXPECT_EQ(out[1].kind, Injection::Kind::at_call);
  EXPECT_EQ(out[1].call, 17u);
  EXPECT_EQ(out[2].point, "rendezvous.seen:3");
  EXPECT_EQ(words_of(out[1]), "kill:rank=0,call=17");
  EXPECT_EQ(words_of(out[2]), "kill:rank=1,point=rendezvous.seen:3");
  EXPECT_EQ(out[3].at_ns, 20'000'000);
  EXPECT_EQ(out[4].kind, Injection::Kind::random);
  EXPECT_EQ(out[4].seed, 9u);
  EXPECT_EQ(out[4].kills_max, 5u);
  EXPECT_TRUE(out[4].seed_given);
}

TEST(Injection, OfTheHead) {
  std::vector<Injection> out;
  ASSERT_TRUE(parse_injections("head,at=1.5s;head:random,rate=0.5/s,seed=3;head:random,rate=2", 4, 3, out));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].kind, Injection::Kind::head);
  EXPECT_EQ(out[0].at_ns, 1'500'000'000);
  EXPECT_EQ(out[1].kind, Injection::Kind::head_random);
  EXPECT_EQ(out[1].seed, 3u);
  EXPECT_FALSE(out[2].seed_given);
  out.clear();
  ASSERT_TRUE(parse_injections("head,point=cut.kept;head,point=cut.told:3", 4, 3, out));
  EXPECT_EQ(out[0].kind, Injection::Kind::head_point);
  EXPECT_EQ(out[0].point, "cut.kept:1");
  EXPECT_EQ(out[1].point, "cut.told:3");
  EXPECT_EQ(words_of(out[1]), "head,point=cut.told:3");
  for (const char* bad : {"head,point=", "head,point=a:0", "head,point=:1", "head,point=a,at=1s", "head:point=a", "head", "head,", "head:", "headat=1s", "head,at=soon", "head,at=1s,for=2s", "head:at=1s", "head:random",
                          "heads,at=1s", "head:random,rate=1,max=2", "head,random,rate=1", "head,at=1s,at=2s"}) {
    EXPECT_FALSE(parse_injections(bad, 4, 3, out)) << bad;
  }
}

TEST(Injection, RefusesWhatItDoesNotKnow) {
  for (const char* bad : {"drop:rank=1", "kill:rank=9,at=1s", "kill:rank=1", "kill:at=1s", "kill:rank=1,at=1s,call=2",
                          "kill:rank=1,at=soon", "kill:rank=1,call=0", "kill:rank=1,colour=red,at=1s", "kill:random",
                          "kill:random,rate=-1", "kill:rank=1,rank=1,at=1s", "kill:rank=x,at=1s",
                          "kill:rank=1,point=:2", "kill:rank=1,point=send.logged:0", "kill:rank=1,point=send.logged;kill:rank=1,point=match.made"}) {
    std::vector<Injection> out;
    EXPECT_FALSE(parse_injections(bad, 4, 3, out)) << bad;
  }
}

TEST(Injection, PointsAreListedWhereThereIsNoSuch) {
  std::vector<Injection> out;
  for (const char* bad : {"kill:rank=1,point=send.loged:3", "kill:rank=1,point=cut.kept", "kill:rank=1,point=send.logged.", "kill:rank=1,point=send"}) {
    const Result<> parsed = parse_injections(bad, 4, 3, out);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.error().text.find("there is no point "), std::string::npos);
    EXPECT_NE(parsed.error().text.find("; there are acknowledge.published, match.logged, "), std::string::npos);
  }
  const Result<> of_head = parse_injections("head,point=send.logged", 4, 3, out);
  ASSERT_FALSE(of_head);
  EXPECT_EQ(of_head.error().text,
            "--inject head,point=send.logged: there is no point send.logged; there are cut.kept, cut.told, orphan.heard, rollback.kept, rollback.told");
}

TEST(Injection, RandomKillsComeFromTheSeed) {
  Injection spec;
  spec.rate_per_s = 4;
  spec.seed = 42;
  spec.kills_max = 1000;
  RandomKills left(spec), right(spec);
  std::int64_t last = 0;
  std::vector<int> hits(4);
  int n = 0;
  while (left.next_at_ns() >= 0) {
    ASSERT_EQ(left.next_at_ns(), right.next_at_ns());
    ASSERT_GE(left.next_at_ns(), last);
    last = left.next_at_ns();
    std::size_t target = left.choose(4);
    ASSERT_EQ(target, right.choose(4));
    ++hits[target];
    ++n;
  }
  EXPECT_EQ(n, 1000);
  EXPECT_NEAR(static_cast<double>(last) / 1e9, 250, 40);
  for (int hit : hits) EXPECT_GT(hit, 150);
}

}  // namespace
}  // namespace hf::daemon
