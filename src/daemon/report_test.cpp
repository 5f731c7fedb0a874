#include "daemon/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/test_seed.hpp"

namespace hf::daemon {
namespace {

using Json = nlohmann::json;
using Line = std::pair<int, int>;  // node and rank

constexpr std::int64_t start_ms = 1000;

Job job_of_three_nodes() {
  Job job;
  job.programs = {{2, "/bin/a", {"./a"}, {}, "/"}};
  job.node_count = 2;
  job.spare_count = 1;
  job.nodes = {{"alpha"}, {"beta"}, {"gamma"}};
  job.node_of_rank = {0, 1};
  return job;
}

class TraceTest : public testing::Test {
 protected:
  const Job job_ = job_of_three_nodes();
  Timeline timeline_{2, Instant(start_ms * 1'000'000)};

  void event(EventKind kind, int rank, std::uint32_t incarnation, double ms, int node = -1, std::uint64_t a = 0) {
    const auto time_ns = static_cast<std::int64_t>((start_ms + ms) * 1e6);
    timeline_.on_event({.kind = kind, .rank = rank, .incarnation = incarnation, .time_ns = time_ns, .a = a}, {}, node);
  }
  Json trace(std::int64_t end_ms) {
    timeline_.on_end(Instant((start_ms + end_ms) * 1'000'000), 0);
    return Json::parse(trace_json(timeline_, job_))["traceEvents"];
  }
};

std::vector<Json> named(const Json& events, const std::string& name) {
  std::vector<Json> out;
  for (const Json& event : events) {
    if (event["name"] == name) out.push_back(event);
  }
  return out;
}

// As a viewer takes them: of spans that begin together the outer one comes first.
void expect_nested(const Json& events) {
  using Span = std::pair<std::int64_t, std::int64_t>;
  std::map<Line, std::vector<Span>> lines;
  for (const Json& event : events) {
    EXPECT_TRUE(!event.contains("args") || event["args"].is_object()) << event;
    if (event["ph"] != "X") continue;
    const std::int64_t from = event["ts"], lasts = event["dur"];
    EXPECT_GE(lasts, 0) << event;
    lines[{event["pid"], event["tid"]}].emplace_back(from, from + lasts);
  }
  for (auto& [line, spans] : lines) {
    std::ranges::stable_sort(spans, {}, &Span::first);
    std::vector<Span> open;
    for (const Span& span : spans) {
      while (!open.empty() && open.back().second <= span.first) open.pop_back();
      EXPECT_TRUE(open.empty() || span.second <= open.back().second) << "node " << line.first << " rank " << line.second << " at " << span.first;
      open.push_back(span);
    }
  }
}

TEST_F(TraceTest, ARankIsDownFromItsEndOn) {
  event(EventKind::started, 0, 0, 19, 0);
  event(EventKind::joined, 0, 0, 20);
  event(EventKind::initialized, 0, 0, 25);
  event(EventKind::injected, 0, 0, 815.296);
  event(EventKind::died, 0, 0, 821.087, -1, 9);
  event(EventKind::started, 0, 1, 823.012, 0);
  event(EventKind::joined, 0, 1, 824);
  event(EventKind::initialized, 0, 1, 827);
  event(EventKind::caught_up, 0, 1, 840);
  const Json events = trace(900);
  expect_nested(events);
  const Json down = named(events, "down").at(0);
  EXPECT_EQ((std::pair<int, int>(down["ts"], down["dur"])), std::pair(821087, 823012 - 821087));
  EXPECT_EQ(named(events, "kill").at(0)["ts"], 815296);
  const Json life = named(events, "incarnation 0").at(0);
  EXPECT_EQ((std::pair<int, int>(life["ts"], life["dur"])), std::pair(19000, 821087 - 19000));
  EXPECT_EQ(named(events, "incarnation 1").at(0)["dur"], 900000 - 823012);
  EXPECT_EQ(named(events, "replay").size(), 1u);
}

TEST_F(TraceTest, AMovedRankIsOnItsNewNode) {
  event(EventKind::started, 0, 0, 10, 0);
  event(EventKind::started, 1, 0, 10, 1);
  timeline_.on_lost_node({.time_ns = (start_ms + 500) * 1'000'000, .node = 1, .why = "its connection ended", .ranks = {1}, .moved_to = {2}});
  event(EventKind::died, 1, 0, 500, -1, 9);
  event(EventKind::started, 1, 22, 510, 2);
  const Json events = trace(900);
  expect_nested(events);
  EXPECT_EQ(named(events, "incarnation 22").at(0)["pid"], 2);
  EXPECT_EQ(named(events, "down").at(0)["pid"], 1);
  const Json lost = named(events, "node lost: its connection ended").at(0);
  EXPECT_EQ((std::tuple<int, int, std::string>(lost["pid"], lost["ts"], lost["s"])), std::tuple(1, 500'000, "p"));
  std::map<int, std::string> processes;
  for (const Json& one : named(events, "process_name")) processes[one["pid"]] = one["args"]["name"];
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "node 0 (alpha)"}, {1, "node 1 (beta)"}, {2, "node 2 (gamma)"}}));
  std::vector<Line> lines;
  for (const Json& one : named(events, "thread_name")) lines.emplace_back(one["pid"], one["tid"]);
  EXPECT_EQ(lines, (std::vector<Line>{{0, 0}, {1, 1}, {2, 1}}));
}

TEST_F(TraceTest, ALossThatOnlyALostHeadKnewIsNotDrawn) {
  timeline_.on_lost_node({.node = 1, .why = "a head before this one said so"});
  for (const Json& event : trace(900)) EXPECT_NE(event["ph"], "i");
}

// Whatever is missing, and however far agents' clocks are apart.
TEST_F(TraceTest, SpansOfALineNestOrAreApart) {
  const auto seed = test_seed();
  SCOPED_TRACE(fmt::format("HOLDFAST_SEED={}", seed));
  std::mt19937_64 random(seed);
  constexpr EventKind kinds[] = {EventKind::started,   EventKind::joined, EventKind::initialized, EventKind::finalized, EventKind::caught_up,
                                 EventKind::injected, EventKind::died,   EventKind::exited,      EventKind::rolled_back};
  for (int round = 0; round < 200; ++round) {
    timeline_ = Timeline(2, Instant(start_ms * 1'000'000));
    for (int i = 0; i < 30; ++i) {
      event(kinds[random() % std::size(kinds)], static_cast<int>(random() % 2), static_cast<std::uint32_t>(random() % 4),
            static_cast<double>(random() % 1'000'000) / 1e3, static_cast<int>(random() % 4) - 1, 9);
    }
    expect_nested(trace(800));
  }
}

}  // namespace
}  // namespace hf::daemon
