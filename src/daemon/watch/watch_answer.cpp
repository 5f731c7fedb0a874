#include "daemon/watch/watch_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hf::daemon {
namespace {

Json numbers_of(const RankRow& row) {
  return {{"restarts", row.restarts},
          {"messages_sent", row.totals.messages_sent},
          {"bytes_sent", row.totals.bytes_sent},
          {"messages_received", row.totals.messages_received},
          {"bytes_received", row.totals.bytes_received},
          {"messages_sent_per_s", row.messages_sent_per_s},
          {"bytes_sent_per_s", row.bytes_sent_per_s},
          {"messages_received_per_s", row.messages_received_per_s},
          {"bytes_received_per_s", row.bytes_received_per_s},
          {"log_memory_bytes", row.log_memory_bytes},
          {"log_disk_bytes", row.log_disk_bytes}};
}

Json whom(Rank rank) {
  if (rank == any_rank) return "any";
  if (rank == segment::several_ranks) return "several";
  return rank.value >= 0 ? Json(rank.value) : Json(nullptr);
}

Json row_json(const RankRow& row) {
  Json out = numbers_of(row);
  out["rank"] = row.rank;
  out["node"] = row.node;
  out["state"] = name_of(row.state);
  out["unprotected"] = row.unprotected;
  out["incarnation"] = row.incarnation;
  out["call"] = row.call;
  if (row.waits_s > 0) {
    out["waits_for"] = whom(row.waits_for);
    out["waits_s"] = row.waits_s;
  }
  return out;
}

// What is larger comes first; equals in the order of ranks.
double weight(const RankRow& row, RankOrder order) {
  switch (order) {
    case RankOrder::rank:
      return 0;
    case RankOrder::node:
      return -row.node;
    case RankOrder::state:
      return -static_cast<int>(row.state);
    case RankOrder::restarts:
      return static_cast<double>(row.restarts);
    case RankOrder::sent:
      return row.bytes_sent_per_s;
    case RankOrder::received:
      return row.bytes_received_per_s;
    case RankOrder::log:
      return static_cast<double>(row.log_memory_bytes) + static_cast<double>(row.log_disk_bytes);
    case RankOrder::waits:
      return row.waits_s;
  }
  return 0;
}

}  // namespace

Result<WatchRequest> read_watch_request(const Json& request) {
  WatchRequest out;
  auto number = [&](const char* name, std::int64_t least, std::int64_t most, std::int64_t otherwise) -> Result<std::int64_t> {
    if (!request.contains(name)) return otherwise;
    const auto value = number_member(request, name);
    if (!value || *value > static_cast<std::uint64_t>(most) || *value < static_cast<std::uint64_t>(least)) {
      return fail(fmt::format("watch: \"{}\" is a number from {} to {}", name, least, most));
    }
    return static_cast<std::int64_t>(*value);
  };
  const auto first = number("first", 0, INT32_MAX, 0), count = number("count", 0, INT32_MAX, 0);
  const auto period_ms = number("period_ms", watch_period_ms_min, watch_period_ms_max, out.period_ms);
  for (const auto* value : {&first, &count, &period_ms}) {
    if (!*value) return std::unexpected(value->error());
  }
  out.first = static_cast<int>(*first);
  out.count = static_cast<int>(*count);
  out.period_ms = *period_ms;
  if (!request.contains("sort")) return out;
  const auto name = text_member(request, "sort");
  const auto found = std::ranges::find(rank_orders, name.value_or(""));
  if (found == rank_orders.end()) return fail(fmt::format("watch: \"sort\" is one of {}", fmt::join(rank_orders, ", ")));
  out.order = static_cast<RankOrder>(found - rank_orders.begin());
  return out;
}

Json watch_request(const WatchRequest& request) {
  return {{"request", "watch"},
          {"first", request.first},
          {"count", request.count},
          {"sort", rank_orders[static_cast<std::size_t>(request.order)]},
          {"period_ms", request.period_ms}};
}

Json answer_watch(const JobWatch& watch, const WatchRequest& request) {
  std::vector<RankRow> rows;
  for (int rank = 0; rank < watch.rank_count(); ++rank) rows.push_back(watch.row(rank));
  std::ranges::stable_sort(rows, std::greater(), [&](const RankRow& row) { return weight(row, request.order); });
  Json out = {{"ranks", watch.rank_count()}, {"samples", watch.samples()}, {"first", request.first}, {"sum", numbers_of(watch.sum())}};
  const auto states = watch.states();
  for (int i = 0; i < watched_state_count; ++i) {
    out["states"][std::string(name_of(static_cast<WatchedState>(i)))] = states[static_cast<std::size_t>(i)];
  }
  out["rows"] = Json::array();
  const std::size_t first = std::min(rows.size(), static_cast<std::size_t>(request.first));
  const std::size_t end = first + std::min(rows.size() - first, static_cast<std::size_t>(request.count));
  for (std::size_t i = first; i < end; ++i) out["rows"].push_back(row_json(rows[i]));
  return out;
}

}  // namespace hf::daemon
