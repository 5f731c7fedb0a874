#include "mpi/coll/part.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/coll/scratch.hpp"
#include "mpi/context_name.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// Every range of the packed form is moved, from and to memory with and without gaps.
TEST(Part, MovesAnyRangeBetweenAnyLayouts) {
  Process p;
  Datatype& plain = *predefined_datatype(0x209);  // MPI_INT of the ABI
  ASSERT_EQ(plain.size, 4);
  Datatype* gapped = nullptr;
  ASSERT_EQ(type_create_resized(p, plain, 0, 12, gapped), success);
  ASSERT_EQ(type_commit(p, *gapped), success);
  constexpr int n = 9;
  std::vector<int> dense(n), sparse(3 * n, -1);
  std::iota(dense.begin(), dense.end(), 100);
  for (int i = 0; i < n; ++i) sparse[static_cast<std::size_t>(3 * i)] = 100 + i;
  std::vector<std::byte> packed(4 * n);
  std::memcpy(packed.data(), dense.data(), packed.size());
  for (std::size_t from = 0; from <= packed.size(); ++from) {
    for (std::size_t length = 0; from + length <= packed.size(); ++length) {
      std::vector<int> target(3 * n, -1), straight(n, -1);
      const Part out = Part::of(sparse.data(), n, *gapped).slice(from, length);
      copy_part(out, Part::of(target.data(), n, *gapped).slice(from, length));
      copy_part(out, Part::of(straight.data(), n, plain).slice(from, length));
      std::vector<std::byte> seen(packed.size());
      copy_part(Part::of(target.data(), n, *gapped).slice(from, length), Part::raw(seen.data() + from, length));
      const auto* direct = reinterpret_cast<const std::byte*>(straight.data());
      ASSERT_EQ(std::memcmp(seen.data() + from, packed.data() + from, length), 0) << from << " " << length;
      ASSERT_EQ(std::memcmp(direct + from, packed.data() + from, length), 0) << from << " " << length;
      for (std::size_t i = 0; i < target.size(); ++i) {
        if (i % 3) {
          ASSERT_EQ(target[i], -1);
        }
      }
    }
  }
  release(gapped);
}

TEST(Scratch, KeepsBlocksForReuse) {
  std::byte* first = scratch_take(5000);
  std::byte* second = scratch_take(5000);
  ASSERT_TRUE(first && second && first != second);
  scratch_give(first, 5000);
  EXPECT_EQ(scratch_take(8192), first);  // the same class of sizes
  scratch_give(first, 8192);
  scratch_give(second, 5000);
  EXPECT_EQ(scratch_take(std::size_t{1} << 60), nullptr);
}

TEST(ContextName, IsUniqueAndReadable) {
  EXPECT_EQ(world_context(ContextKind::point), Context{0});
  EXPECT_EQ(created_context(Rank{4}, 3, ContextKind::point), Context{0x1000000028});  // docs/contexts.md
  EXPECT_EQ(context_sibling(Context{0x1000000028}, ContextKind::creation), Context{0x100000002a});
  EXPECT_NE(self_context(Rank{0}, ContextKind::point), world_context(ContextKind::point));
  EXPECT_NE(self_context(Rank{1}, ContextKind::point), self_context(Rank{0}, ContextKind::point));
  const Context last = created_context(Rank{context_creator_max}, context_creations_max - 1, ContextKind::collective);
  EXPECT_EQ(context_creator(last), Rank{context_creator_max});
  EXPECT_EQ(context_kind(last), ContextKind::collective);
}

}  // namespace
}  // namespace hf::mpi
