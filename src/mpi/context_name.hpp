// How contexts are named (design rule 1, docs/contexts.md): by who made them and as its how-manieth, never from a pool of
// free numbers. 64 bits, unique in the job, never used again:
//
//   63 ................ 34 | 33 ................. 3 | 2 .. 0
//   creator, job-wide rank | its n-th creation + 2  | kind
//
// Creation 0 is MPI_COMM_WORLD (creator 0), creation 1 the MPI_COMM_SELF of its creator.
#pragma once
#include <cstdint>

#include "base/ids.hpp"

namespace hf::mpi {

// The message spaces of one communicator.
enum class ContextKind : std::uint8_t {
  point = 0,       // the program's messages, matched by tag
  collective = 1,  // the steps of collectives, numbered
  creation = 2,    // MPI_Comm_create_group and MPI_Intercomm_create, matched by their tag
  groups = 3,      // of MPI_COMM_WORLD only: what makes communicators of groups alone, matched by their string's hash
  channels = 4,    // names of the channels of partitioned communication, matched by tag
};
inline constexpr int context_kind_bits = 3;
inline constexpr std::uint64_t context_kind_mask = (1 << context_kind_bits) - 1;

inline constexpr std::uint64_t context_creations_max = (std::uint64_t{1} << 31) - 2;
inline constexpr std::int32_t context_creator_max = (1 << 30) - 1;

constexpr Context context_name(Rank creator, std::uint64_t creation_field, ContextKind kind) {
  return Context((static_cast<std::uint64_t>(static_cast<std::uint32_t>(creator.value)) << 34) | (creation_field << context_kind_bits) |
                 static_cast<std::uint64_t>(kind));
}
// The same communicator's context of another kind.
constexpr Context context_sibling(Context context, ContextKind kind) {
  return Context((context.value & ~context_kind_mask) | static_cast<std::uint64_t>(kind));
}
constexpr ContextKind context_kind(Context context) { return static_cast<ContextKind>(context.value & context_kind_mask); }
constexpr Rank context_creator(Context context) { return Rank(static_cast<std::int32_t>(context.value >> 34)); }

constexpr Context world_context(ContextKind kind) { return context_name(Rank(0), 0, kind); }
constexpr Context self_context(Rank self, ContextKind kind) { return context_name(self, 1, kind); }
// The communicator that `creator` makes as its n-th, from 0.
constexpr Context created_context(Rank creator, std::uint64_t n, ContextKind kind) {
  return context_name(creator, n + 2, kind);
}

}  // namespace hf::mpi
