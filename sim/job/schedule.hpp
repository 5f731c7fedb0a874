// The steps of a simulated collective, as src/mpi/coll lists them: a function of the call's arguments alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace hf::sim::job {

struct Request;

enum class Collective : std::uint8_t { barrier, bcast, reduce, allreduce, alltoall };
inline constexpr int collectives = 5;

struct Step {
  enum Kind : std::uint8_t { send, recv, wait, settle, reduce } kind;
  int peer = 0;            // send, recv
  std::size_t slot = 0;    // whose value is sent, received, or goes into slot 0; wait: the step that is waited for
  Sequence number{};       // reserved when the list is made
  std::uint32_t name = 0;  // of the send or receive, the checker's
  Request* request = nullptr;  // once it is started
};

class Schedule {
 public:
  Schedule(Collective collective, int self, int ranks, int root, std::uint64_t value);
  std::vector<Step> steps;
  std::vector<std::uint64_t> slots;  // the call's value, and then its result, is the first
  std::size_t next = 0;              // to run

 private:
  void list(Collective collective, int root);
  void list_bcast(int root);
  void list_reduce(int root);
  void list_barrier();
  void list_alltoall();
  void send(int peer) { steps.push_back({Step::send, peer, 0}); }
  void recv(int peer, std::size_t slot) { steps.push_back({Step::recv, peer, slot}); }
  void wait() { steps.push_back({Step::wait, 0, steps.size() - 1}); }  // for the step listed last
  void fold(std::size_t slot) { steps.push_back({Step::reduce, 0, slot}); }
  std::size_t new_slot() { return slots.push_back(0), slots.size() - 1; }
  int self_, ranks_;
};

}  // namespace hf::sim::job
