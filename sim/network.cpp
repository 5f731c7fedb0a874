#include "sim/network.hpp"

namespace hf::sim {

void Network::send(Frame frame) {
  if (ended_.contains(frame.from) || lost_.contains(frame.from)) return;
  Connection& connection = connections_[pair_of(frame.from, frame.to)];
  if (!connection.open && ended_.contains(frame.to) && !parted(frame.from, frame.to)) {
    // Nobody listens there any more.
    return carry(connection, {What::closed, {frame.to, frame.from, {}}});
  }
  connection.open = true;
  carry(connection, {What::frame, std::move(frame)});
}

void Network::carry(Connection& connection, Carried carried) {
  if (parted(carried.frame.from, carried.frame.to)) return connection.held.push_back(std::move(carried));
  std::int64_t jitter = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(options_.jitter_ns + 1));
  Instant& last = connection.arrival[carried.frame.to];
  last = std::max(last, Instant(events_.now().value + options_.latency_ns + jitter));
  events_.at(last, [this, &connection, number = connection.number, carried = std::move(carried)]() mutable {
    if (connection.number == number || carried.what == What::closed) arrive(std::move(carried));
  });
}

void Network::arrive(Carried carried) {
  NodeId to = carried.frame.to;
  if (lost_.contains(to) || ended_.contains(to)) return;
  if (carried.what == What::closed) user_.on_closed(to, carried.frame.from);
  else user_.on_arrival(std::move(carried.frame));
}

void Network::on_process_end(NodeId node) {
  ended_[node] = true;
  for (auto& [pair, connection] : connections_) {
    if (!connection.open || (pair.first != node && pair.second != node)) continue;
    connection.open = false;
    carry(connection, {What::closed, {node, pair.first == node ? pair.second : pair.first, {}}});
  }
}

void Network::lose_connection(NodeId a, NodeId b) {
  Connection& connection = connections_[pair_of(a, b)];
  ++connection.number;
  connection.open = false;
  connection.held.clear();
  carry(connection, {What::closed, {a, b, {}}});
  carry(connection, {What::closed, {b, a, {}}});
}

void Network::partition(std::vector<NodeId> side) {
  for (NodeId node : side) side_[node] = true;
}

void Network::heal() {
  side_.clear();
  for (auto& [pair, connection] : connections_) {
    for (Carried& carried : std::exchange(connection.held, {})) carry(connection, std::move(carried));
  }
}

}  // namespace hf::sim
