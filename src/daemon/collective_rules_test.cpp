#include "daemon/collective_rules.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace hf::daemon {
namespace {

using wire::Algorithm;
using wire::Collective;

std::string error_of(const std::string& text) {
  const auto rules = parse_collective_rules(text);
  return rules ? "" : rules.error().text;
}

TEST(CollectiveRules, AreReadFromJson) {
  const auto rules = parse_collective_rules(
      R"({"machine": "any", "rules": [{"collective": "bcast", "algorithm": "linear", "nodes": 2, "ranks": 4, "bytes": 4096},
                                      {"collective": "scan", "algorithm": "chain", "logging": true}]})");
  ASSERT_TRUE(rules) << rules.error().text;
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].collective, Collective::bcast);
  EXPECT_EQ((*rules)[0].algorithm, Algorithm::linear);
  EXPECT_EQ((*rules)[0].nodes, 2);
  EXPECT_EQ((*rules)[0].ranks, 4);
  EXPECT_EQ((*rules)[0].bytes, 4096u);
  EXPECT_EQ((*rules)[0].logging, wire::Logging::any);
  EXPECT_EQ((*rules)[1].logging, wire::Logging::on);
  EXPECT_EQ((*rules)[1].nodes, 1);
  EXPECT_EQ((*rules)[1].bytes, 0u);
}

TEST(CollectiveRules, SayWhatIsWrong) {
  EXPECT_EQ(error_of("{"), "not JSON");
  EXPECT_EQ(error_of("[]"), "no array \"rules\" in it");
  EXPECT_EQ(error_of(R"({"rules": [3]})"), "rule 1: not an object");
  EXPECT_EQ(error_of(R"({"rules": [{"collective": 3}]})"), "rule 1: \"collective\" must be a string");
  EXPECT_EQ(error_of(R"({"rules": [{"collective": "bcast", "algorithm": "bruck"}]})"),
            "rule 1: bcast has no algorithm 'bruck': binomial, linear, scatter_ring");
  EXPECT_EQ(error_of(R"({"rules": [{"collective": "bcast", "algorithm": "linear", "rank": 3}]})"),
            "rule 1: \"rank\" is not known: collective, algorithm, nodes, ranks, bytes, logging");
  for (const char* value : {"0", "-1", "1.5", "\"2\"", "4294967296", "18446744073709551615"}) {
    const std::string text = std::string(R"({"rules": [{"collective": "scan", "algorithm": "chain", "ranks": )") + value + "}]}";
    EXPECT_EQ(error_of(text), "rule 1: \"ranks\" must be a whole number from 1 to 2147483647") << value;
  }
}

TEST(CollectiveRules, AreNotMoreThanOneDatagramHolds) {
  const std::string path = testing::TempDir() + "collective_rules_many.json";
  std::ofstream file(path);
  file << R"({"rules": [)";
  for (int i = 0; i < 1024; ++i) file << (i ? "," : "") << R"({"collective": "scan", "algorithm": "chain"})";
  file << "]}";
  file.close();
  CollectiveRules rules;
  EXPECT_TRUE(read_collective_rules(path, {}, rules));
  EXPECT_TRUE(read_collective_rules(path, {"scan=doubling"}, rules));
  const auto one_more = read_collective_rules(path, {"bcast=linear"}, rules);
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().text, "more than 1024 rules");
  std::remove(path.c_str());
}

TEST(CollectiveRules, ASingleOneTakesThePlaceOfTheFiles) {
  const std::string path = testing::TempDir() + "collective_rules_test.json";
  std::ofstream(path) << R"({"rules": [{"collective": "bcast", "algorithm": "linear"}, {"collective": "scan", "algorithm": "chain"}]})";
  CollectiveRules rules;
  ASSERT_TRUE(read_collective_rules(path, {"bcast=linear", "bcast=scatter_ring"}, rules));
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].collective, Collective::scan);
  EXPECT_EQ(rules[1].algorithm, Algorithm::scatter_ring);
  std::remove(path.c_str());
  const auto missing = read_collective_rules(path, {}, rules);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text.find("it cannot be read: No such file"), std::string::npos);
  const auto unknown = read_collective_rules("", {"exscan=linear"}, rules);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("'exscan' is not a collective with a choice: allgather, allreduce"), std::string::npos);
  EXPECT_FALSE(read_collective_rules("", {"bcast"}, rules));
}

}  // namespace
}  // namespace hf::daemon
