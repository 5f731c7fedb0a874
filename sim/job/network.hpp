// Connections between simulated processes: each joins two incarnations, keeps order in each direction, and can be lost with what
// is on its way. What a process that died had sent still arrives, and then the end; of a lost node there is no end.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/job/board.hpp"
#include "sim/job/frame.hpp"

namespace hf::sim::job {

class Process;
class World;

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  // Its first frame says where the sender's log is continued. 0: the other side has dialled already.
  std::uint64_t dial(Process& from, Rank to, const BoardEntry& known, std::size_t position);
  // False: it is lost meanwhile.
  bool accept(std::uint64_t connection, Process& by, std::size_t position);
  void send(std::uint64_t connection, Rank from, const Frame& frame);
  void leave(std::uint64_t connection, Rank by);
  void on_end(Process& process, bool silent);
  // Fault: one of them, with all that is on its way.
  void lose_one(std::uint64_t choice);

 private:
  struct End {
    Rank rank{};
    Incarnation incarnation{};
    std::int64_t last = 0;  // arrival of what was sent to it last
  };
  struct Connection {
    std::array<End, 2> ends;
    bool lost = false;  // nothing arrives any more
    std::uint64_t pair = 0;
  };
  static std::uint64_t key(Rank rank, Incarnation incarnation) {
    return static_cast<std::uint64_t>(rank.value) << 32 | incarnation.value;
  }
  static std::uint64_t pair_of(const Connection& connection);
  static std::size_t side_of(const Connection& connection, Rank rank) { return connection.ends[0].rank == rank ? 0 : 1; }
  void carry(std::uint64_t id, std::size_t to, const Frame& frame);
  void close(std::uint64_t id, std::size_t to);
  void arrive(std::uint64_t id, std::size_t to, const Frame& frame);
  std::int64_t arrival(Connection& connection, std::size_t to, std::size_t bytes);
  void forget(Connection& connection);

  World& world_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<std::uint64_t, std::uint64_t> of_pair_;               // the one that may be used
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> of_process_;
  std::uint64_t next_ = 0;
};

}  // namespace hf::sim::job
