#include "mpi/op.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/datatype.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int sum = 0x21, min = 0x22, max = 0x23, prod = 0x24, band = 0x28, bor = 0x29, bxor = 0x2a, land = 0x30,
              lor = 0x31, lxor = 0x32, minloc = 0x38, maxloc = 0x39, replace = 0x3c, no_op = 0x3d;
constexpr int arithmetic[] = {sum, min, max, prod}, bits[] = {band, bor, bxor}, logicals[] = {land, lor, lxor},
              locations[] = {minloc, maxloc};
constexpr int types_integer[] = {0x208, 0x209, 0x20a, 0x20b, 0x20c, 0x20d, 0x20e, 0x20f, 0x219, 0x240, 0x241, 0x244,
                                 0x245, 0x248, 0x249, 0x250, 0x251, 0x258, 0x259, 0x2c1, 0x2c9, 0x2d1, 0x2d9, 0x2e1,
                                 0x201, 0x202, 0x203, 0x243};  // these four: see allowed()
constexpr int types_floating[] = {0x210, 0x214, 0x21a, 0x21c, 0x220, 0x2ca, 0x2d2, 0x2da, 0x2e2};
constexpr int types_complex[] = {0x212, 0x213, 0x216, 0x217, 0x21b, 0x21d, 0x224, 0x225, 0x2d3, 0x2db, 0x2e3, 0x2eb};
constexpr int types_logical[] = {0x218, 0x238, 0x239, 0x2c0, 0x2c8, 0x2d0, 0x2d8, 0x2e0};
constexpr int types_pair[] = {0x228, 0x229, 0x22a, 0x22b, 0x22c, 0x22d, 0x230, 0x231, 0x232};

template <class A>
bool is_in(int value, const A& array) {
  for (int one : array) {
    if (one == value) return true;
  }
  return false;
}

// The table of MPI 5.0, 6.9.2, and what MPICH accepts besides: logical operations on Fortran integers and on MPI_AINT,
// MPI_COUNT and MPI_OFFSET; MPI_CHAR as an integer.
bool allowed(int op, int type) {
  if (is_in(type, types_integer)) return is_in(op, arithmetic) || is_in(op, bits) || is_in(op, logicals);
  if (is_in(type, types_floating)) return is_in(op, arithmetic);
  if (is_in(type, types_complex)) return op == sum || op == prod;
  if (is_in(type, types_logical)) return is_in(op, logicals);
  if (is_in(type, types_pair)) return is_in(op, locations);
  return type == 0x247 && is_in(op, bits);
}

TEST(Op, DefinedWhereTheStandardSaysSo) {
  int operations = 0, types = 0;
  for (int op = 0x20; op < 0x40; ++op) {
    if (!predefined_op(op)) continue;
    ++operations;
    types = 0;
    for (int value = 0x200; value < 0x300; ++value) {
      Datatype* type = predefined_datatype(value);
      if (!type) continue;
      ++types;
      EXPECT_EQ(check_op(*predefined_op(op), *type) == success, allowed(op, value)) << op << ' ' << type->name;
    }
  }
  EXPECT_EQ(operations, 14);
  EXPECT_EQ(types, 70);
}

template <class T>
std::vector<T> apply(int op, int type, std::vector<T> in, std::vector<T> inout) {
  EXPECT_EQ(sizeof(T), static_cast<std::size_t>(predefined_datatype(type)->extent));
  apply_op(*predefined_op(op), in.data(), inout.data(), static_cast<Count>(in.size()), *predefined_datatype(type));
  return inout;
}

TEST(Op, Integers) {
  const std::vector<int> a{5, -3, 0, 12}, b{2, -7, 9, 10};
  EXPECT_EQ(apply(sum, 0x209, a, b), (std::vector<int>{7, -10, 9, 22}));
  EXPECT_EQ(apply(prod, 0x209, a, b), (std::vector<int>{10, 21, 0, 120}));
  EXPECT_EQ(apply(max, 0x209, a, b), (std::vector<int>{5, -3, 9, 12}));
  EXPECT_EQ(apply(min, 0x209, a, b), (std::vector<int>{2, -7, 0, 10}));
  EXPECT_EQ(apply(land, 0x209, a, b), (std::vector<int>{1, 1, 0, 1}));
  EXPECT_EQ(apply(lor, 0x209, a, b), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(apply(lxor, 0x209, a, b), (std::vector<int>{0, 0, 1, 0}));
  EXPECT_EQ(apply(band, 0x209, a, b), (std::vector<int>{0, -3 & -7, 0, 8}));
  EXPECT_EQ(apply(bor, 0x209, a, b), (std::vector<int>{7, -3 | -7, 9, 14}));
  EXPECT_EQ(apply(bxor, 0x209, a, b), (std::vector<int>{7, -3 ^ -7, 9, 6}));
}

TEST(Op, CharactersAreSmallIntegers) {
  const std::vector<char> a{5, -3, 'a'}, b{2, -7, 'b'};
  EXPECT_EQ(apply(max, 0x243, a, b), (std::vector<char>{5, -3, 'b'}));
  EXPECT_EQ(apply(sum, 0x243, a, b), (std::vector<char>{7, -10, static_cast<char>('a' + 'b')}));
  EXPECT_EQ(apply(lor, 0x243, {0, 4}, std::vector<char>{0, 0}), (std::vector<char>{0, 1}));
  EXPECT_EQ(apply(lxor, 0x201, {0, 4}, std::vector<std::int64_t>{3, 2}), (std::vector<std::int64_t>{1, 0}));
}

TEST(Op, IntegersWrapAround) {
  EXPECT_EQ(apply<int>(sum, 0x209, {INT32_MAX}, {1})[0], INT32_MIN);
  EXPECT_EQ(apply<short>(prod, 0x208, {-32768}, {-32768})[0], 0);
  EXPECT_EQ(apply<unsigned short>(prod, 0x20c, {65535}, {65535})[0], 1);
  EXPECT_EQ(apply<std::int64_t>(prod, 0x258, {INT64_MAX}, {2})[0], -2);
}

TEST(Op, Floating) {
  EXPECT_EQ(apply<double>(sum, 0x214, {0.1, 2}, {0.2, 3}), (std::vector<double>{0.1 + 0.2, 5}));
  EXPECT_EQ(apply<float>(max, 0x210, {1, 4}, {2, 3}), (std::vector<float>{2, 4}));
  EXPECT_EQ(apply<long double>(prod, 0x220, {1.5L}, {2})[0], 3.0L);
  using C = std::complex<double>;
  EXPECT_EQ(apply<C>(prod, 0x216, {C(1, 2)}, {C(3, 4)})[0], C(-5, 10));
  EXPECT_EQ(apply<C>(sum, 0x216, {C(1, 2)}, {C(3, 4)})[0], C(4, 6));
}

TEST(Op, HalfPrecision) {
  const std::uint16_t one = 0x3c00, two = 0x4000, three = 0x4200;
  EXPECT_EQ(apply<std::uint16_t>(sum, 0x2ca, {one}, {two})[0], three);
}

struct DoubleInt {
  double value;
  int index;
};

TEST(Op, Locations) {
  auto result = apply<DoubleInt>(maxloc, 0x229, {{1, 7}, {5, 2}, {3, 4}}, {{2, 1}, {5, 1}, {3, 9}});
  EXPECT_EQ(result[0].value, 2);
  EXPECT_EQ(result[0].index, 1);
  EXPECT_EQ(result[1].index, 1);
  EXPECT_EQ(result[2].index, 4);
  result = apply<DoubleInt>(minloc, 0x229, {{1, 7}, {5, 2}, {3, 4}}, {{2, 1}, {5, 1}, {3, 9}});
  EXPECT_EQ(result[0].value, 1);
  EXPECT_EQ(result[0].index, 7);
  EXPECT_EQ(result[1].index, 1);
  EXPECT_EQ(result[2].index, 4);
}

TEST(Op, AnyAlignmentGivesTheSameResult) {
  constexpr std::size_t n = 37;
  std::vector<double> a(n), b(n), expected(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = 1.0 / static_cast<double>(i + 1);
    b[i] = static_cast<double>(i) * 0.3;
    expected[i] = a[i] + b[i];
  }
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<std::byte> in(n * 8 + 32), inout(n * 8 + 32);
    std::memcpy(in.data() + shift, a.data(), n * 8);
    std::memcpy(inout.data() + 16 - shift, b.data(), n * 8);
    apply_op(*predefined_op(sum), in.data() + shift, inout.data() + 16 - shift, n, *predefined_datatype(0x214));
    EXPECT_EQ(std::memcmp(inout.data() + 16 - shift, expected.data(), n * 8), 0);
  }
}

TEST(Op, DuplicatesOfPredefinedTypesAreOperands) {
  Process p;
  Datatype *copy = nullptr, *pair = nullptr;
  ASSERT_EQ(type_dup(p, *predefined_datatype(0x214), copy), success);
  ASSERT_EQ(type_contiguous(p, 2, *predefined_datatype(0x214), pair, false), success);
  double in = 1, inout = 2;
  EXPECT_EQ(reduce_local(p, &in, &inout, 1, *copy, *predefined_op(sum)), success);
  EXPECT_EQ(inout, 3);
  EXPECT_EQ(reduce_local(p, &in, &inout, 1, *pair, *predefined_op(sum)), err_op);
  EXPECT_EQ(reduce_local(p, &in, &inout, 1, *copy, *predefined_op(replace)), err_op);
  EXPECT_EQ(reduce_local(p, &in, &inout, 1, *copy, *predefined_op(no_op)), err_op);
  release(copy);
  release(pair);
}

TEST(Op, PredefinedOnesCannotBeFreed) {
  Process p;
  Op* op = predefined_op(sum);
  EXPECT_EQ(op_free(p, op), err_op);
  EXPECT_EQ(op, predefined_op(sum));
  int commutes = 0;
  EXPECT_EQ(op_commutative(p, *op, commutes), success);
  EXPECT_EQ(commutes, 1);
}

}  // namespace
}  // namespace hf::mpi
