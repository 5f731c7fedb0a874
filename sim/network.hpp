// The simulated network of the agents: connections that keep order, with latency; lost nodes, dead processes, lost
// connections, partitions. What a connection cannot carry now it carries later, as TCP does, until one side gives it up.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sim/events.hpp"

namespace hf::sim {

struct Frame {
  NodeId from{}, to{};
  std::vector<std::byte> bytes;
  int depth = 0;  // length of the chain of frames that ends with this one
};

class NetworkUser {
 public:
  virtual void on_arrival(Frame frame) = 0;
  virtual void on_closed(NodeId at, NodeId peer) = 0;

 protected:
  ~NetworkUser() = default;
};

struct NetworkOptions {
  std::int64_t latency_ns = 100'000;
  std::int64_t jitter_ns = 200'000;
};

class Network {
 public:
  Network(Events& events, NetworkUser& user, const NetworkOptions& options, std::uint64_t seed)
      : events_(events), user_(user), options_(options), random_(seed) {}

  void send(Frame frame);  // opens the connection if there is none
  // The process is gone; its peers see their connections close, unless its node went with it.
  void on_process_end(NodeId node);
  void on_node_loss(NodeId node) { lost_[node] = true; }
  void lose_connection(NodeId a, NodeId b);
  void partition(std::vector<NodeId> side);  // these from all others
  void heal();

 private:
  enum class What { frame, closed };
  struct Carried {
    What what{};
    Frame frame;
  };
  struct Connection {
    std::uint64_t number = 0;           // of this pair: what an older one carried is lost
    bool open = false;
    std::map<NodeId, Instant> arrival;  // of the last one to each end
    std::deque<Carried> held;
  };
  using Pair = std::pair<NodeId, NodeId>;
  static Pair pair_of(NodeId a, NodeId b) { return a < b ? Pair{a, b} : Pair{b, a}; }
  bool parted(NodeId a, NodeId b) const { return side_.contains(a) != side_.contains(b); }
  void carry(Connection& connection, Carried carried);
  void arrive(Carried carried);

  Events& events_;
  NetworkUser& user_;
  NetworkOptions options_;
  std::mt19937_64 random_;
  std::map<Pair, Connection> connections_;
  std::map<NodeId, bool> lost_, ended_;
  std::map<NodeId, bool> side_;
};

}  // namespace hf::sim
