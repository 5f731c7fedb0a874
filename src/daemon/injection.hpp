// The words of --inject, and the times of random kills. Pure.
//
//   kill:rank=R,at=1.5s        SIGKILL to rank R that long after all ranks have returned from MPI_Init; units s, ms, us
//   kill:rank=R,call=N         rank R kills itself when it enters its N-th MPI call, in its first incarnation only
//   kill:rank=R,point=NAME:N   the same at the N-th pass of a named point of the library (N: 1 when left out), one a
//   rank kill:random,rate=4/s,seed=S,max=K   kills of running ranks chosen uniformly, at exponentially distributed
//   intervals,
//                              so many a second over the whole job, at most K (no limit when left out)
//   node:N,at=1s               SIGKILL to agent N and its ranks
//   node:random,rate=0.2/s,seed=S,max=K   the same to agents that have ranks, chosen as above
//   pause:node=N,at=1s,for=3s  agent N and its ranks are stopped, and continued after that time
//   unshared:node=N,at=1s,for=3s   what the ranks of agent N determine goes to no other node for that time
//   disk:node=N,at=1s,for=3s   the disk on which agent N keeps determinants stands still for that time; without `for` it is full from
//                              then on
//   partition:0,1|2,3,at=1s,for=3s   for that time no byte passes between nodes of different groups; the head, and nodes that are not
//                              named, are with the first
//   covered:calls=N,rank=R     as if a checkpoint of rank R (of every rank when left out), at each of its N-th MPI calls, covered what it has
//                              taken: its senders forget that. If it dies then, the job ends: there is no checkpoint
//   head,at=1s                 SIGKILL to the head, which ends the job
//   head,point=NAME:N          the same at the N-th pass of a named point of the head, of the first one (Head::point)
//   head:random,rate=0.2/s,seed=S   the same at a random time
// Several are separated by ';'.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hf::daemon {

struct Injection {
  enum class Kind : std::uint32_t { at_time, at_call, at_point, random, node, node_random, pause, unshared, disk, partition, covered, head, head_random, head_point } kind = Kind::at_time;
  int rank = 0;
  int node = 0;
  std::int64_t for_ns = 0;
  std::vector<std::uint16_t> side_of;  // partition: the group of every agent
  std::int64_t at_ns = 0;
  std::uint64_t call = 0;
  std::string point;  // "NAME:N", as Welcome::inject has it
  double rate_per_s = 0;
  std::uint64_t seed = 0;
  bool seed_given = true;
  std::uint64_t kills_max = UINT64_MAX;
};

// Appends the injections of one --inject option. Ranks and nodes are checked against how many there are.
Result<> parse_injections(std::string_view text, int rank_count, int agent_count, std::vector<Injection>& out);

// "partition:0|1,at=1s": as the user would say it again.
std::string words_of(const Injection& injection);

// The kills of one kill:random: a function of its seed and of the numbers of running ranks it is asked for.
class RandomKills {
 public:
  explicit RandomKills(const Injection& injection);
  // Nanoseconds after the start of the next kill; negative: no more.
  std::int64_t next_at_ns() const { return left_ == 0 ? -1 : next_ns_; }
  // Which of `running` ranks (index) to kill now; moves on to the next kill. `counts`: towards max.
  std::size_t choose(std::size_t running);
  void skip();  // none was running

 private:
  void advance();
  double uniform();

  std::mt19937_64 random_;
  double rate_per_s_;
  std::uint64_t left_;
  std::int64_t next_ns_ = 0;
};

}  // namespace hf::daemon
