#include "daemon/watch/saved_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/report.hpp"

namespace hf::daemon {
namespace {

// A job of three ranks on two nodes: rank 1 is killed, node 1 is lost.
std::string made_report() {
  Job job;
  job.programs = {{2, "/bin/a", {"./a", "-x"}, {}, "/"}, {1, "/bin/b", {"./b"}, {}, "/"}};
  job.node_count = 2;
  job.spare_count = 1;
  job.event_logger_count = 2;
  job.nodes = {{"alpha"}, {"beta"}, {"gamma"}, {"delta"}, {"epsilon"}};
  job.node_of_rank = {0, 0, 1};
  job.log_level = wire::LogLevel::node;
  job.started_ns = 1'795'344'131'500'000'000;
  Timeline timeline(3, Instant(1'000'000'000));
  auto event = [&](EventKind kind, int rank, std::uint32_t incarnation, std::int64_t ms, std::uint64_t a = 0, std::uint64_t b = 0,
                   Bytes text = {}) {
    timeline.on_event({kind, rank, incarnation, 0, (1000 + ms) * 1'000'000, a, b}, text);
  };
  segment::Counters counters{.messages_sent = 1002, .bytes_sent = 1 << 20, .messages_received = 7, .determinants = 3};
  for (int rank = 0; rank < 3; ++rank) event(EventKind::started, rank, 0, 10);
  event(EventKind::injected, 1, 0, 500, 9);
  event(EventKind::died, 1, 0, 502, 9, 17);
  event(EventKind::started, 1, 1, 505);
  event(EventKind::joined, 1, 1, 509);
  event(EventKind::caught_up, 1, 1, 600, 17, 5);
  event(EventKind::note, 0, 0, 700, 0, 0, bytes_of("odd\x1b[2J"));
  timeline.on_lost_node({.time_ns = 1'800'000'000, .node = 1, .why = "its connection ended", .ranks = {2}, .moved_to = {2}});
  timeline.on_lost_node({.time_ns = 1'850'000'000, .node = 3, .why = "its connection ended", .ranks = {}, .moved_to = {}});
  event(EventKind::died, 2, 0, 800, 9);
  event(EventKind::unprotect, 2, 0, 900, 0, 0);
  event(EventKind::counters, 0, 0, 900, 0, 0, std::as_bytes(std::span(&counters, 1)));
  timeline.on_end(Instant(3'345'000'000), 0);
  return report_json(timeline, job, {});
}

constexpr const char* golden = R"(./a -x (2 ranks)
./b (1 rank)
3 ranks on 2 nodes (1 spare, 2 event loggers), protocol pessimist, log level node (holdfast VERSION)
started 2026-11-22 10:42:11 UTC, ended well after 2.345 s with exit code 0

2 deaths of ranks, 1 restart
       time  rank incarnation   signal    call detected after restarted after  caught up after  replayed
    0.500 s     1           0  SIGKILL      17         2.0 ms          5.0 ms         100.0 ms         5
    0.800 s     2           0  SIGKILL       0              -               -                -         -

2 nodes lost
    0.800 s node 1: its connection ended; rank 2 started again on node 2
    0.850 s node 3: its connection ended; it was an event logger

 rank node host  restarts     sent    bytes received    bytes   logged    bytes   events replayed
    0    0 alpha        0     1002    1.00M        7        0        0        0        3        0  unprotected
    1    0 alpha        1        0        0        0        0        0        0        0        0
    2    1 beta         0        0        0        0        0        0        0        0        0
  all                   1     1002    1.00M        7        0        0        0        3        0

notes
    0.700 s rank 0: odd?[2J
)";

TEST(SavedReport, IsPrintedForPeople) {
  Result<SavedReport> report = read_report(made_report());
  ASSERT_TRUE(report) << report.error().text;
  report->version = "VERSION";
  EXPECT_EQ(format_report(*report, false), golden);
}

// Three ranks on four nodes; a head goes on for two that were killed: the first had moved rank 1 off node 1, rank 2 has died since.
std::string report_after_lost_heads(bool died) {
  Job job;
  job.programs = {{3, "/bin/a", {"./a"}, {}, "/"}};
  job.node_count = 3;
  job.spare_count = 1;
  job.nodes = {{"alpha"}, {"beta"}, {"gamma"}, {"delta"}};
  job.node_of_rank = {0, 1, 2};
  Timeline timeline(3, Instant(1'000'000'000));
  timeline.on_lost_heads(2);
  timeline.on_lost_node({.node = 1, .why = "a head before this one said so"});
  const std::uint32_t incarnations[] = {0, 22, 0};
  for (int rank = 0; rank < 3; ++rank) {
    timeline.on_known_restarts(rank, {incarnations[rank], incarnations[rank] > 0 ? 1u : 0u});
    timeline.on_event({EventKind::started, rank, incarnations[rank], 0, 1'010'000'000}, {});
  }
  if (died) {
    timeline.on_event({EventKind::died, 2, 0, 0, 2'000'000'000, 9}, {});
    timeline.on_event({EventKind::started, 2, 1, 0, 2'001'000'000}, {});
  }
  timeline.on_end(Instant(3'000'000'000), 0);
  return report_json(timeline, job, {});
}

TEST(SavedReport, WhatALostHeadKnewIsNotDenied) {
  Result<SavedReport> report = read_report(report_after_lost_heads(false));
  ASSERT_TRUE(report) << report.error().text;
  std::string text = format_report(*report, false);
  EXPECT_NE(text.find("\n2 heads were lost: what is told of before is incomplete\n1 restart of ranks\n\n1 node lost\n"), std::string::npos) << text;
  EXPECT_NE(text.find("          - node 1: a head before this one said so\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("no rank died"), std::string::npos);
  EXPECT_EQ(report->ranks[1].restarts, 1u);
  report = read_report(report_after_lost_heads(true));
  ASSERT_TRUE(report) << report.error().text;
  text = format_report(*report, false);
  EXPECT_NE(text.find("incomplete\n1 death of ranks, 2 restarts\n"), std::string::npos) << text;
  EXPECT_EQ(report->ranks[2].restarts, 1u);
  report->failures.clear();
  report->restarts = 0;
  report->lost_heads = 1;
  EXPECT_NE(format_report(*report, false).find("\n1 head was lost: what is told of before is incomplete\n\n1 node lost"), std::string::npos);
}

TEST(SavedReport, ANodeIsLostOnce) {
  Timeline timeline(1, Instant(0));
  timeline.on_lost_node({.node = 1, .why = "a head before this one said so"});
  timeline.on_lost_node({.node = 2, .why = "a head before this one said so"});
  timeline.on_lost_node({.time_ns = 5, .node = 1, .why = "it did not come back", .ranks = {0}});
  ASSERT_EQ(timeline.lost_nodes().size(), 2u);
  EXPECT_EQ(timeline.lost_nodes()[1].why, "it did not come back");
}

TEST(SavedReport, LongTablesAreCut) {
  SavedReport report;
  for (std::uint64_t rank = 0; rank < 100; ++rank) {
    report.ranks.push_back({.rank = rank});
    report.failures.push_back({.rank = rank, .signal = "SIGKILL"});
    report.notes.push_back({.text = "x"});
  }
  const std::string cut = format_report(report, false), whole = format_report(report, true);
  EXPECT_EQ(std::ranges::count(whole, '\n') - std::ranges::count(cut, '\n'), 3 * (100 - 32) - 3);
  EXPECT_NE(cut.find("  and 68 more (--all)\n"), std::string::npos);
  EXPECT_EQ(whole.find("more"), std::string::npos);
}

TEST(SavedReport, LongNamesOfHostsAreCutBetweenCharacters) {
  SavedReport report;
  report.ranks.push_back({.rank = 0, .host = std::string(39, 'h') + "\xc3\xbc"});
  const std::string text = format_report(report, false);
  EXPECT_NE(text.find(std::string(39, 'h') + " "), std::string::npos);
  EXPECT_EQ(text.find('\xc3'), std::string::npos);
}

TEST(SavedReport, NumbersInARowAreARange) {
  SavedReport report;
  report.lost_nodes.push_back({.time_s = 1, .why = "x", .ranks = {9, 4, 5, 6, 0, 8}, .moved_to = {}});
  EXPECT_NE(format_report(report, false).find("ranks 0, 4-6, 8-9 did not start again"), std::string::npos);
}

TEST(SavedReport, WhatIsNoReportIsRefused) {
  const std::string good = made_report();
  const std::pair<std::string, const char*> cases[] = {
      {"", "it is no JSON"},
      {good.substr(0, good.size() / 2), "it is no JSON"},
      {"[1, 2]", "it has no \"holdfast\""},
      {"{}", "it has no \"holdfast\""},
      {R"({"holdfast": 3})", "its \"holdfast\" is missing or wrong"},
      {R"({"holdfast": "1"})", "its \"rank_count\" is missing or wrong"},
      {R"({"holdfast":"1","rank_count":-1})", "its \"rank_count\" is missing or wrong"},
      {R"({"holdfast":"1","rank_count":1,"node_count":1,"exit_code":0,"duration_s":1,"ranks":[3]})",
       "its \"ranks\" holds an entry that is no object"},
      {R"({"holdfast":"1","rank_count":1,"node_count":1,"exit_code":0,"duration_s":1,"totals":3})", "its \"totals\" is missing or wrong"},
      {R"({"holdfast":"1","rank_count":1,"node_count":1,"exit_code":0,"duration_s":1,"notes":[{"time_s":1}]})",
       "its \"text\" is missing or wrong"},
  };
  for (const auto& [text, why] : cases) {
    auto report = read_report(text);
    ASSERT_FALSE(report) << text;
    EXPECT_EQ(report.error().text, why);
  }
}

TEST(SavedReport, OldReportsMayLackWhatIsNew) {
  EXPECT_TRUE(read_report(R"({"holdfast":"0","rank_count":1,"node_count":1,"exit_code":0,"duration_s":1e0})"));
}

}  // namespace
}  // namespace hf::daemon
