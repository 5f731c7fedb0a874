#include "daemon/watch/watch_answer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/watch/top_view.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t one_second = 1'000'000'000;

// Four ranks on two nodes. 0 sends 1000 messages of 100 bytes a second, 1 waits for 0 and 2 for any rank, 3 is started again.
JobWatch make_watch() {
  JobWatch watch({0, 0, 1, 1});
  for (int rank = 0; rank < 4; ++rank) {
    watch.on_event(rank / 2, {EventKind::started, rank, 0}, {});
    watch.on_event(rank / 2, {EventKind::initialized, rank, 0}, {});
  }
  watch.on_event(1, {EventKind::started, 3, 1}, {});
  watch.on_event(0, {EventKind::unprotect, 0, 0, 0, 0, 1}, {});
  for (std::int64_t i : {1, 2}) {
    for (int node : {0, 1}) {
      std::vector<std::byte> body;
      ByteWriter out(body);
      out.put(SampleHead{(10 + i) * one_second});
      for (int rank : {2 * node, 2 * node + 1}) {
        RankSample one{rank, rank == 3 ? 1u : 0u, 5, 0, static_cast<std::uint64_t>(rank) << 20};
        const auto sent = static_cast<std::uint64_t>(i) * 1000;
        if (rank == 0) one.counters = {.messages_sent = sent, .bytes_sent = sent * 100};
        if (rank == 1) one.waiting = segment::waiting_word({Rank(0), 9'500});
        if (rank == 2) one.waiting = segment::waiting_word({any_rank, 11'900});
        out.put(one);
      }
      watch.on_sample(node, body);
    }
  }
  return watch;
}

// As it arrives: numbers are unsigned where they can be.
Json sent(const Json& json) { return Json::parse(json.dump()); }

std::vector<int> ranks_of(const Json& answer) {
  std::vector<int> out;
  for (const Json& row : answer["rows"]) out.push_back(row["rank"].get<int>());
  return out;
}

std::vector<int> in_order(RankOrder order, int first = 0, int count = 100) {
  return ranks_of(answer_watch(make_watch(), {first, count, order}));
}

TEST(WatchAnswer, RowsComeInTheOrderAskedFor) {
  EXPECT_EQ(in_order(RankOrder::rank), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(in_order(RankOrder::sent), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(in_order(RankOrder::log), (std::vector{3, 2, 1, 0}));
  EXPECT_EQ(in_order(RankOrder::waits), (std::vector{1, 2, 0, 3}));
  EXPECT_EQ(in_order(RankOrder::restarts), (std::vector{3, 0, 1, 2}));
  EXPECT_EQ(in_order(RankOrder::state), (std::vector{0, 1, 2, 3}));
}

TEST(WatchAnswer, OnlyRowsAskedForAreGiven) {
  EXPECT_EQ(in_order(RankOrder::rank, 1, 2), (std::vector{1, 2}));
  EXPECT_EQ(in_order(RankOrder::rank, 3, INT32_MAX), (std::vector{3}));
  EXPECT_EQ(in_order(RankOrder::rank, INT32_MAX, INT32_MAX), (std::vector<int>{}));
  EXPECT_EQ(in_order(RankOrder::rank, 0, 0), (std::vector<int>{}));
}

TEST(WatchAnswer, RequestsGoThere) {
  const WatchRequest request{3, 20, RankOrder::waits, 250};
  auto read = read_watch_request(sent(watch_request(request)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, 3);
  EXPECT_EQ(read->count, 20);
  EXPECT_EQ(read->order, RankOrder::waits);
  EXPECT_EQ(read->period_ms, 250);
  EXPECT_TRUE(read_watch_request(Json{{"request", "watch"}}));
}

TEST(WatchAnswer, BadRequestsAreRefused) {
  const std::pair<Json, const char*> cases[] = {
      {{{"first", -1}}, "watch: \"first\" is a number from 0 to 2147483647"},
      {{{"count", 3e10}}, "watch: \"count\" is a number from 0 to 2147483647"},
      {{{"count", "3"}}, "watch: \"count\" is a number from 0 to 2147483647"},
      {{{"period_ms", 1}}, "watch: \"period_ms\" is a number from 100 to 60000"},
      {{{"sort", "size"}}, "watch: \"sort\" is one of rank, node, state, restarts, sent, received, log, waits"},
      {{{"sort", 1}}, "watch: \"sort\" is one of rank, node, state, restarts, sent, received, log, waits"},
  };
  for (const auto& [request, why] : cases) {
    auto read = read_watch_request(sent(request));
    ASSERT_FALSE(read) << request;
    EXPECT_EQ(read.error().text, why);
  }
}

constexpr const char* golden_table =
    R"(job bakofu, 12m03s: ./a -x
4 ranks on 2 nodes, 1 spare and 2 event loggers, lost: 1; protocol pessimist, log level node
ranks: 1 replaying, 1 running, 2 waiting; 1 restart
all: 1000 messages/s, 97.7KB/s; logs 6.00MB in memory, 0B on disk
 RANK NODE  INC RST SENT/s   B/s RECV/s   B/s   LOG  STATE
    0    0    0   0   1000 97.7K      0     0     0  running
    1    0    0   0      0     0      0     0 1.00M  waiting for 0, 2.50s, unprotected
    2    1    0   0      0     0      0     0 2.00M  waiting for any, 0.100s
    3    1    1   1      0     0      0     0 3.00M  replaying
)";

TEST(TopView, IsATable) {
  Json answer = answer_watch(make_watch(), {0, 100});
  answer.update({{"job", "bakofu"}, {"command", {"./a", "-x"}}, {"protocol", "pessimist"}, {"log_level", "node"}, {"time_s", 723.2},
                 {"nodes", 2}, {"spare_nodes", 1}, {"event_loggers", 2}, {"lost_nodes", {1}}});
  auto view = read_top(sent(answer));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->samples, 2u);
  std::string text;
  const auto head = top_head(*view);
  EXPECT_EQ(head.size(), top_head_lines);
  for (const std::string& line : head) text += line + "\n";
  text += top_columns() + "\n";
  for (const TopRow& row : view->rows) text += top_line(row) + "\n";
  EXPECT_EQ(text, golden_table);
}

TEST(TopView, OddAnswersAreNoTable) {
  EXPECT_FALSE(read_top(Json::object()));
  EXPECT_FALSE(read_top(Json{{"ranks", 1}, {"rows", 3}}));
  const Json rows = {1, "x", nullptr, {{"rank", "x"}, {"waits_s", "y"}, {"state", 3}}};
  EXPECT_TRUE(read_top(sent({{"ranks", 1}, {"rows", rows}, {"states", 4}, {"sum", 5}})));
}

}  // namespace
}  // namespace hf::daemon
