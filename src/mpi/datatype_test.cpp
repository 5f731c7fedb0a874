#include "mpi/datatype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/datatype_body.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int abi_int = 0x209, abi_byte = 0x247, abi_double = 0x214, abi_short = 0x208, abi_char = 0x243,
              abi_double_int = 0x229, abi_long_double = 0x220;

Datatype& named(int value) {
  return *predefined_datatype(value);
}

// The type map spelled out: displacement of every byte, in order. Made beside the type, by the definitions of the
// standard, and never through a layout.
struct Spelled {
  Datatype* type = nullptr;
  std::vector<Count> bytes;
  Count extent = 0;
};

void append(Spelled& to, const Spelled& from, Count displacement) {
  for (Count byte : from.bytes) to.bytes.push_back(displacement + byte);
}

class RandomTypes {
 public:
  explicit RandomTypes(unsigned seed) : random_(seed) {}
  ~RandomTypes() {
    for (Datatype* type : made_) release(type);
  }

  Spelled make(int depth) {
    if (depth == 0) return leaf();
    const Spelled inner = make(depth - 1);
    if (inner.bytes.size() > 4000) return inner;
    switch (pick(0, 6)) {
      case 0:
        return contiguous(inner);
      case 1:
        return hvector(inner);
      case 2:
        return hindexed(inner);
      case 3:
        return structure(inner, make(pick(0, depth - 1)));
      case 4:
        return resized(inner);
      case 5:
        return indexed_block(inner);
      default:
        return subarray(inner);
    }
  }
  Count pick(Count low, Count high) { return std::uniform_int_distribution<Count>(low, high)(random_); }

 private:
  Spelled leaf() {
    constexpr int values[] = {abi_int, abi_byte, abi_double, abi_short, abi_char, abi_double_int};
    Spelled out;
    out.type = &named(values[pick(0, 5)]);
    for (Count i = 0; i < out.type->size; ++i) out.bytes.push_back(i);
    return done(out);
  }
  Spelled contiguous(const Spelled& inner) {
    Spelled out;
    const Count n = pick(0, 4);
    EXPECT_EQ(type_contiguous(p_, n, *inner.type, out.type, false), success);
    for (Count i = 0; i < n; ++i) append(out, inner, i * inner.extent);
    return made(out);
  }
  Spelled hvector(const Spelled& inner) {
    Spelled out;
    const Count n = pick(0, 4), length = pick(0, 3), stride = pick(-50, 50);
    EXPECT_EQ(type_create_hvector(p_, n, length, stride, *inner.type, out.type, false), success);
    for (Count i = 0; i < n; ++i) {
      for (Count j = 0; j < length; ++j) append(out, inner, i * stride + j * inner.extent);
    }
    return made(out);
  }
  Spelled hindexed(const Spelled& inner) {
    Spelled out;
    const Count n = pick(0, 5);
    std::vector<Count> lengths, displacements;
    for (Count i = 0; i < n; ++i) {
      lengths.push_back(pick(0, 3));
      displacements.push_back(pick(-64, 64));
      for (Count j = 0; j < lengths.back(); ++j) append(out, inner, displacements.back() + j * inner.extent);
    }
    EXPECT_EQ(type_create_hindexed(p_, n, CountArray(lengths.data()), CountArray(displacements.data()), *inner.type,
                                   out.type, false),
              success);
    return made(out);
  }
  Spelled indexed_block(const Spelled& inner) {
    Spelled out;
    const Count n = pick(0, 5), length = pick(0, 3);
    std::vector<int> displacements;
    for (Count i = 0; i < n; ++i) {
      displacements.push_back(static_cast<int>(pick(-5, 9)));
      for (Count j = 0; j < length; ++j) append(out, inner, (displacements.back() + j) * inner.extent);
    }
    EXPECT_EQ(type_create_indexed_block(p_, n, length, CountArray(displacements.data()), *inner.type, out.type, false),
              success);
    return made(out);
  }
  Spelled structure(const Spelled& first, const Spelled& second) {
    Spelled out;
    const std::vector<Count> lengths{pick(0, 2), pick(0, 2), 1},
        displacements{pick(-40, 40), pick(-40, 40), pick(0, 99)};
    const Spelled* parts[] = {&first, &second, &first};
    std::vector<Datatype*> types;
    for (std::size_t i = 0; i < 3; ++i) {
      types.push_back(parts[i]->type);
      for (Count j = 0; j < lengths[i]; ++j) append(out, *parts[i], displacements[i] + j * parts[i]->extent);
    }
    EXPECT_EQ(
        type_create_struct(p_, 3, CountArray(lengths.data()), CountArray(displacements.data()), types, out.type, false),
        success);
    return made(out);
  }
  Spelled resized(const Spelled& inner) {
    Spelled out;
    EXPECT_EQ(type_create_resized(p_, *inner.type, pick(-9, 9), pick(-20, 80), out.type, false), success);
    append(out, inner, 0);
    return made(out);
  }
  Spelled subarray(const Spelled& inner) {
    Spelled out;
    const int rows = static_cast<int>(pick(1, 4)), columns = static_cast<int>(pick(1, 4));
    const int sub_rows = static_cast<int>(pick(1, rows)), sub_columns = static_cast<int>(pick(1, columns));
    const int row = static_cast<int>(pick(0, rows - sub_rows)),
              column = static_cast<int>(pick(0, columns - sub_columns));
    const int sizes[] = {rows, columns}, subsizes[] = {sub_rows, sub_columns}, starts[] = {row, column};
    EXPECT_EQ(type_create_subarray(p_, 2, CountArray(sizes), CountArray(subsizes), CountArray(starts), 0xc, *inner.type,
                                   out.type, false),
              success);
    for (int r = row; r < row + sub_rows; ++r) {
      for (int c = column; c < column + sub_columns; ++c) append(out, inner, (r * columns + c) * inner.extent);
    }
    EXPECT_EQ(out.type->extent, rows * columns * inner.extent);
    return made(out);
  }
  Spelled made(Spelled& out) {
    made_.push_back(out.type);
    return done(out);
  }
  // Checks what follows from the bytes; the extent is the type's own (tested elsewhere).
  Spelled done(Spelled& out) {
    out.extent = out.type->extent;
    if (out.type == &named(abi_double_int)) out.bytes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    EXPECT_EQ(out.type->size, static_cast<Count>(out.bytes.size()));
    if (!out.bytes.empty()) {
      const auto [low, high] = std::ranges::minmax(out.bytes);
      EXPECT_EQ(out.type->true_lb, low);
      EXPECT_EQ(out.type->true_extent, high + 1 - low);
    }
    return std::move(out);
  }

  Process p_;
  std::mt19937 random_;
  std::vector<Datatype*> made_;
};

// Packing in pieces of any size and order gives what the type map says, and unpacking is the inverse.
TEST(Datatype, PacksAndUnpacksInAnyPieces) {
  for (unsigned seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    RandomTypes types(seed);
    const Spelled spelled = types.make(static_cast<int>(types.pick(0, 4)));
    const Count count = types.pick(0, 3);
    std::vector<Count> map;
    for (Count i = 0; i < count; ++i) {
      for (Count byte : spelled.bytes) map.push_back(i * spelled.extent + byte);
    }
    if (map.empty()) continue;
    const auto [low, high] = std::ranges::minmax(map);
    if (high - low > 1 << 22) continue;
    std::vector<std::byte> memory(static_cast<std::size_t>(high - low + 1));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(types.pick(0, 255));
    std::byte* buffer = memory.data() - low;
    std::vector<std::byte> expected;
    for (Count at : map) expected.push_back(memory[static_cast<std::size_t>(at - low)]);

    std::vector<std::byte> packed(expected.size()), target(memory.size());
    std::vector<std::size_t> cuts{0, expected.size()};
    for (Count i = types.pick(0, 6); i > 0; --i) {
      cuts.push_back(static_cast<std::size_t>(types.pick(0, static_cast<Count>(expected.size()))));
    }
    std::ranges::sort(cuts);
    for (std::size_t i = cuts.size() - 1; i-- > 0;) {
      pack_range(*spelled.type, buffer, count, cuts[i], MutableBytes(packed).subspan(cuts[i], cuts[i + 1] - cuts[i]));
    }
    ASSERT_EQ(packed, expected);
    // Where the type map names a byte twice the last one stays, so unpack in order.
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      unpack_range(*spelled.type, target.data() - low, count, cuts[i],
                   Bytes(packed).subspan(cuts[i], cuts[i + 1] - cuts[i]));
    }
    for (Count at : map) {
      ASSERT_EQ(target[static_cast<std::size_t>(at - low)], memory[static_cast<std::size_t>(at - low)]);
    }
    EXPECT_TRUE(
        copy_typed(buffer, count, *spelled.type, packed.data(), static_cast<Count>(packed.size()), named(abi_byte)));
    EXPECT_EQ(packed, expected);
  }
}

struct Types : testing::Test {
  Process p;
  Datatype* type = nullptr;
  ~Types() override { release(type); }
};

TEST_F(Types, HugeCountsTakeNoMemory) {
  ASSERT_EQ(type_vector(p, Count{1} << 40, 3, 7, named(abi_double), type, false), success);
  EXPECT_EQ(type->size, (Count{1} << 40) * 24);
  Datatype* twice = nullptr;
  ASSERT_EQ(type_contiguous(p, 1000, *type, twice, false), success);
  EXPECT_EQ(twice->size, 1000 * type->size);
  release(twice);
  EXPECT_EQ(type_contiguous(p, Count{1} << 30, *type, twice, false), err_count);
}

TEST_F(Types, EachConstructorLooksAtItsMembersAlone) {
  Datatype* type = &named(abi_int);
  std::vector<Datatype*> made;
  for (Count i = 0; i < 1000; ++i) {
    const int lengths[] = {1, 1};
    const Count places[] = {0, 16 + 24 * i};
    Datatype* members[] = {type, &named(i % 2 == 0 ? abi_double : abi_int)};
    ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(places), members, type, false), success);
    made.push_back(type);
  }
  EXPECT_EQ(type->size, 4 + 500 * 12);
  for (Datatype* one : made) release(one);
}

TEST_F(Types, BoundsOfVectorWithNegativeStride) {
  ASSERT_EQ(type_vector(p, 3, 2, -4, named(abi_int), type, false), success);
  EXPECT_EQ(type->lb, -32);
  EXPECT_EQ(type->extent, 40);
  EXPECT_EQ(type->true_lb, -32);
  EXPECT_EQ(type->true_extent, 40);
  EXPECT_FALSE(type->contiguous);
}

TEST_F(Types, StructIsPaddedAsByTheCompiler) {
  struct Sample {
    double a;
    char b;
  };
  const int lengths[] = {1, 1};
  const Count displacements[] = {offsetof(Sample, a), offsetof(Sample, b)};
  Datatype* parts[] = {&named(abi_double), &named(abi_char)};
  ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, type, false), success);
  EXPECT_EQ(type->extent, static_cast<Count>(sizeof(Sample)));
  EXPECT_EQ(type->size, 9);
  EXPECT_EQ(named(abi_double_int).extent, 16);
  EXPECT_EQ(named(abi_double_int).size, 12);
}

// MPI 5.0, 5.1.6: what stands in the type map is aligned.
TEST_F(Types, WhatIsNotThereIsNotAligned) {
  const int lengths[] = {1, 0, 2};
  const Count displacements[] = {0, 8, 4};
  Datatype* nothing = nullptr;
  ASSERT_EQ(type_contiguous(p, 0, named(abi_double), nothing, false), success);
  Datatype* parts[] = {&named(abi_int), &named(abi_double), nothing};
  ASSERT_EQ(type_create_struct(p, 3, CountArray(lengths), CountArray(displacements), parts, type, false), success);
  EXPECT_EQ(type->extent, 4);
  release(nothing);
}

TEST_F(Types, MarkersOfAResizeBindTypesMadeOfIt) {
  Datatype* inner = nullptr;
  ASSERT_EQ(type_create_resized(p, named(abi_int), -4, 12, inner, false), success);
  const int lengths[] = {1, 1};
  const Count displacements[] = {0, 100};
  Datatype* parts[] = {inner, &named(abi_int)};
  ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, type, false), success);
  EXPECT_EQ(type->lb, -4);
  EXPECT_EQ(type->extent, 12);
  EXPECT_EQ(type->true_extent, 104);
  release(inner);
}

TEST_F(Types, ContiguousIsSeenThroughConstructors) {
  Datatype* pair = nullptr;
  const int lengths[] = {1, 1};
  const Count displacements[] = {0, 4};
  Datatype* parts[] = {&named(abi_int), &named(abi_int)};
  ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, pair, false), success);
  ASSERT_EQ(type_vector(p, 10, 3, 3, *pair, type, false), success);
  EXPECT_TRUE(type->contiguous);
  EXPECT_EQ(type->basic, Basic::int32);
  EXPECT_EQ(type->basic_bytes, 4);
  EXPECT_EQ(type->operand, Basic::none);
  release(pair);
}

TEST_F(Types, AbsoluteAddressesWithBottom) {
  int values[4] = {1, 2, 3, 4};
  const int lengths[] = {2};
  const Count displacements[] = {static_cast<Count>(reinterpret_cast<std::uintptr_t>(&values[1]))};
  ASSERT_EQ(type_create_hindexed(p, 1, CountArray(lengths), CountArray(displacements), named(abi_int), type, false),
            success);
  int out[2] = {};
  pack_range(*type, nullptr, 1, 0, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 3);
}

TEST_F(Types, NegativeBlockLengthIsRefused) {
  EXPECT_EQ(type_vector(p, 1, -1, 1, named(abi_int), type, false), err_arg);
}

// Every element of the global array belongs to exactly one rank, in the order of the definition.
TEST_F(Types, DarrayPartitionsTheArray) {
  constexpr int block = 17, cyclic = 18, none = 16, default_argument = 19;
  struct Case {
    int distribs[2], dargs[2], psizes[2], gsizes[2];
  };
  const Case cases[] = {
      {{block, block}, {default_argument, default_argument}, {2, 3}, {7, 11}},
      {{cyclic, block}, {2, 4}, {3, 2}, {11, 8}},
      {{cyclic, cyclic}, {default_argument, 3}, {2, 2}, {5, 13}},
      {{none, cyclic}, {default_argument, 2}, {1, 4}, {3, 5}},
      {{block, none}, {3, default_argument}, {5, 1}, {6, 4}},
  };
  for (const Case& c : cases) {
    for (int order : {0xc, 0xf}) {
      const int ranks = c.psizes[0] * c.psizes[1];
      std::vector<int> owner(static_cast<std::size_t>(c.gsizes[0] * c.gsizes[1]), -1);
      for (int rank = 0; rank < ranks; ++rank) {
        Datatype* part = nullptr;
        ASSERT_EQ(type_create_darray(p, ranks, rank, 2, CountArray(c.gsizes), c.distribs, c.dargs, c.psizes, order,
                                     named(abi_int), part, false),
                  success);
        EXPECT_EQ(part->extent, 4 * c.gsizes[0] * c.gsizes[1]);
        std::vector<int> whole(owner.size()), mine(static_cast<std::size_t>(part->size) / 4);
        for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<int>(i);
        pack_range(*part, whole.data(), 1, 0, std::as_writable_bytes(std::span(mine)));
        EXPECT_TRUE(std::ranges::is_sorted(mine));
        for (int at : mine) {
          EXPECT_EQ(owner[static_cast<std::size_t>(at)], -1);
          owner[static_cast<std::size_t>(at)] = rank;
          const int index[2] = {order == 0xc ? at / c.gsizes[1] : at % c.gsizes[0],
                                order == 0xc ? at % c.gsizes[1] : at / c.gsizes[0]};
          const int coordinate[2] = {rank / c.psizes[1], rank % c.psizes[1]};
          for (int d = 0; d < 2; ++d) {
            int length = c.dargs[d];
            if (length == default_argument) {
              length = c.distribs[d] == block ? (c.gsizes[d] + c.psizes[d] - 1) / c.psizes[d] : 1;
            }
            if (c.distribs[d] == none) length = c.gsizes[d];
            EXPECT_EQ(index[d] / length % c.psizes[d], coordinate[d]);
          }
        }
        release(part);
      }
      EXPECT_EQ(std::ranges::count(owner, -1), 0);
    }
  }
}

}  // namespace
}  // namespace hf::mpi
