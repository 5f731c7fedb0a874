// A line of the table by which collectives choose their algorithms (core/collectives/choice.hpp), as agents give it to ranks.
#pragma once
#include <cstdint>

namespace hf::wire {

enum class Collective : std::uint8_t { allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter };
inline constexpr int collective_count = 10;

enum class Algorithm : std::uint8_t { binomial, bruck, chain, dissemination, doubling, halving, linear, pairwise, rabenseifner, ring, scatter_ring };
inline constexpr int algorithm_count = 11;

// Whether the job logs messages: then sending costs a copy, which others than the sender cannot share.
enum class Logging : std::uint8_t { any, off, on };

// `algorithm` is for calls from these numbers of nodes, ranks and bytes on. Bytes: of gather, scatter and alltoall one rank's
// block, of allgather and reduce_scatter all blocks together, of barrier 0, else the vector.
struct CollectiveRule {
  Collective collective{};
  Algorithm algorithm{};
  Logging logging = Logging::any;
  std::uint8_t reserved = 0;
  std::int32_t nodes = 1;
  std::int32_t ranks = 1;
  std::int32_t reserved2 = 0;
  std::uint64_t bytes = 0;
};

}  // namespace hf::wire
