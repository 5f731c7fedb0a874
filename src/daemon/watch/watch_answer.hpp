// What `holdfast top` asks the head for, and is answered: some rows of the table of ranks, in an order (docs/clients.md, `watch`). Pure.
#pragma once
#include <array>
#include <string_view>

#include "daemon/clients/client_line.hpp"
#include "daemon/watch/job_watch.hpp"

namespace hf::daemon {

// The first three upwards, the others downwards.
enum class RankOrder { rank, node, state, restarts, sent, received, log, waits };
inline constexpr std::array<std::string_view, 8> rank_orders = {"rank", "node", "state", "restarts", "sent", "received", "log", "waits"};

inline constexpr std::int64_t watch_period_ms_min = 100, watch_period_ms_max = 60'000;

struct WatchRequest {
  int first = 0, count = 0;  // rows
  RankOrder order = RankOrder::rank;
  std::int64_t period_ms = 1000;  // how often to take samples
};
Result<WatchRequest> read_watch_request(const Json& request);
Json watch_request(const WatchRequest& request);

// `rows`, `ranks`, `samples`, `states` and `sum`; the head adds what it knows of the job.
Json answer_watch(const JobWatch& watch, const WatchRequest& request);

}  // namespace hf::daemon
