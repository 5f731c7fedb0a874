#include "daemon/watch/metrics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

namespace hf::daemon {
namespace {

JobFacts facts() {
  using enum NodeRole;
  return {"pessimist", "node", 1.5e9, {true, false, true, true}, {ranks, ranks, spare, event_logger}};
}

std::string text_of_two_ranks() {
  JobWatch watch({0, 1});
  for (int rank : {0, 1}) {
    watch.on_event(rank, {EventKind::started, rank, 0}, {});
    watch.on_event(rank, {EventKind::initialized, rank, 0}, {});
  }
  std::vector<std::byte> body;
  ByteWriter out(body);
  out.put(SampleHead{5'000'000'000});
  RankSample sample{1, 0, 12, segment::waiting_word({Rank(0), 3'750}), 4096, 0};
  sample.counters.messages_sent = 9007199254740991;
  out.put(sample);
  watch.on_sample(1, body);
  return metrics_text(watch, facts());
}

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    EXPECT_TRUE(values.emplace(line.substr(0, space), line.substr(space + 1)).second) << "twice: " << line;
  }
  return values;
}

TEST(Metrics, SayWhatIsKnown) {
  const auto values = values_of(text_of_two_ranks());
  EXPECT_EQ(values.at("holdfast_rank_messages_sent_total{rank=\"1\"}"), "9007199254740991");
  EXPECT_EQ(values.at("holdfast_rank_messages_sent_total{rank=\"0\"}"), "0");
  EXPECT_EQ(values.at("holdfast_rank_waiting_seconds{rank=\"1\"}"), "1.25");
  EXPECT_EQ(values.at("holdfast_rank_log_memory_bytes{rank=\"1\"}"), "4096");
  EXPECT_EQ(values.at("holdfast_rank_mpi_calls_total{rank=\"1\"}"), "12");
  EXPECT_EQ(values.at("holdfast_ranks{state=\"waiting\"}"), "1");
  EXPECT_EQ(values.at("holdfast_ranks{state=\"running\"}"), "1");
  EXPECT_EQ(values.at("holdfast_node_up{node=\"1\",spare=\"false\",event_logger=\"false\"}"), "0");
  EXPECT_EQ(values.at("holdfast_node_up{node=\"2\",spare=\"true\",event_logger=\"false\"}"), "1");
  EXPECT_EQ(values.at("holdfast_node_up{node=\"3\",spare=\"false\",event_logger=\"true\"}"), "1");
  EXPECT_EQ(values.at("holdfast_job_start_time_seconds"), "1500000000");
}

// The rules that Prometheus' own `promtool check metrics` applies to names.
TEST(Metrics, NamesFollowTheConventions) {
  std::istringstream in(text_of_two_ranks());
  std::set<std::string> families;
  std::string name, type;
  bool helped = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, what, family, rest;
    words >> first;
    if (first == "#") {
      words >> what >> family;
      std::getline(words, rest);
      if (what == "HELP") {
        EXPECT_TRUE(families.insert(family).second) << family << " is in two places";
        EXPECT_TRUE(rest.ends_with('.')) << line;
        helped = true;
        name = family;
      } else {
        EXPECT_EQ(what, "TYPE");
        EXPECT_TRUE(helped && family == name) << line;
        type = rest.substr(1);
        helped = false;
      }
      continue;
    }
    EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), name);
    EXPECT_TRUE(name.starts_with("holdfast_"));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
    EXPECT_TRUE(name.find("bytes") == std::string::npos || name.ends_with("_bytes") || name.ends_with("_bytes_total")) << name;
    EXPECT_TRUE(name.find("seconds") == std::string::npos || name.ends_with("_seconds")) << name;
  }
  EXPECT_EQ(families.size(), 24u);
}

}  // namespace
}  // namespace hf::daemon
