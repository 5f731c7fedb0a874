#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/datatype.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"
#include "mpi/status.hpp"

namespace hf::mpi {
namespace {

struct Packing : testing::Test {
  Process p;
  Comm comm;
  static Datatype& named(int value) { return *predefined_datatype(value); }

  template <class T>
  std::vector<unsigned char> external(int type, std::vector<T> values) {
    const auto n = static_cast<Count>(values.size());
    Count size = 0, position = 0;
    EXPECT_EQ(pack_external_size(p, "external32", n, named(type), size), success);
    std::vector<unsigned char> packed(static_cast<std::size_t>(size));
    EXPECT_EQ(pack_external(p, "external32", values.data(), n, named(type), packed.data(), size, position), success);
    EXPECT_EQ(position, size);
    std::vector<T> back(values.size());
    position = 0;
    EXPECT_EQ(unpack_external(p, "external32", packed.data(), size, position, back.data(), n, named(type)), success);
    EXPECT_EQ(back, values);
    EXPECT_EQ(position, size);
    return packed;
  }
  using Raw = std::vector<unsigned char>;
};

TEST_F(Packing, External32) {
  EXPECT_EQ(external<int>(0x209, {1, -2}), (Raw{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external<long>(0x20a, {-2}), (Raw{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external<unsigned long>(0x20e, {0xfffffffeul}), (Raw{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external<wchar_t>(0x23c, {L'A'}), (Raw{0, 'A'}));
  EXPECT_EQ(external<double>(0x214, {1.5}), (Raw{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external<long double>(0x220, {-1.0L}), (Raw{0xbf, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external<std::int64_t>(0x258, {1}), (Raw{0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(external<char>(0x243, {'a', 'b'}), (Raw{'a', 'b'}));
  external<long double>(0x220, {0.1L, 1e4000L, -1e-4900L});
}

TEST_F(Packing, External32OfAStruct) {
  struct Sample {
    short a;
    double b[2];
  } in[2] = {{1, {2, 3}}, {4, {5, 6}}}, out[2] = {};
  const int lengths[] = {1, 2};
  const Count displacements[] = {0, 8};
  Datatype* parts[] = {&named(0x208), &named(0x214)};
  Datatype* type = nullptr;
  ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, type, false), success);
  Count size = 0, position = 0;
  pack_external_size(p, "external32", 2, *type, size);
  EXPECT_EQ(size, 36);
  unsigned char packed[36];
  ASSERT_EQ(pack_external(p, "external32", in, 2, *type, packed, size, position), success);
  EXPECT_EQ(packed[1], 1);
  EXPECT_EQ(packed[2], 0x40);
  position = 0;
  ASSERT_EQ(unpack_external(p, "external32", packed, size, position, out, 2, *type), success);
  EXPECT_EQ(out[1].a, 4);
  EXPECT_EQ(out[1].b[1], 6);
  release(type);
}

TEST_F(Packing, ValuesThatDoNotFitAreRefused) {
  const long big = 1l << 40;
  unsigned char packed[4];
  Count position = 0;
  EXPECT_EQ(pack_external(p, "external32", &big, 1, named(0x20a), packed, 4, position), err_conversion);
  EXPECT_EQ(pack_external(p, "native", &big, 1, named(0x20a), packed, 4, position), err_unsupported_datarep);
}

TEST_F(Packing, PositionsMove) {
  const int in[] = {1, 2, 3};
  int out[3] = {};
  char buffer[16];
  Count position = 2;
  ASSERT_EQ(pack(p, in, 3, named(0x209), buffer, 16, position, comm), success);
  EXPECT_EQ(position, 14);
  EXPECT_EQ(pack(p, in, 1, named(0x209), buffer, 16, position, comm), err_truncate);
  EXPECT_EQ(position, 14);
  position = 2;
  ASSERT_EQ(unpack(p, buffer, 14, position, out, 3, named(0x209), comm), success);
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(unpack(p, buffer, 14, position, out, 1, named(0x209), comm), err_truncate);
}

TEST_F(Packing, ElementsOfAPartlyReceivedMessage) {
  Datatype* type = nullptr;
  const int lengths[] = {1, 3};
  const Count displacements[] = {0, 8};
  Datatype* parts[] = {&named(0x214), &named(0x229)};  // a double, three pairs of double and int
  ASSERT_EQ(type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, type, false), success);
  EXPECT_EQ(type->size, 8 + 3 * 12);
  auto elements = [&](Count bytes) {
    Count n = -1;
    get_elements(p, Status{.bytes = bytes}, *type, n);
    return n;
  };
  EXPECT_EQ(elements(0), 0);
  EXPECT_EQ(elements(8), 1);
  EXPECT_EQ(elements(16), 2);
  EXPECT_EQ(elements(20), 3);
  EXPECT_EQ(elements(44), 7);
  EXPECT_EQ(elements(44 + 8 + 12), 10);
  EXPECT_EQ(elements(10), undefined);
  release(type);
}

struct Queries : Packing {};

TEST_F(Queries, EnvelopeAndContents) {
  const int lengths[] = {2, 3};
  const Count displacements[] = {0, 64};
  Datatype *inner = nullptr, *type = nullptr;
  type_contiguous(p, 4, named(0x209), inner, false);
  Datatype* parts[] = {inner, &named(0x214)};
  type_create_struct(p, 2, CountArray(lengths), CountArray(displacements), parts, type, false);
  Count integers = 0, addresses = 0, large = 0, types = 0;
  int combiner = 0;
  type_get_envelope(p, *type, integers, addresses, large, types, combiner);
  EXPECT_EQ(combiner, 110);
  EXPECT_EQ(integers, 3);
  EXPECT_EQ(addresses, 2);
  EXPECT_EQ(large, 0);
  EXPECT_EQ(types, 2);
  int i[3];
  Count a[2];
  Datatype* d[2];
  EXPECT_EQ(type_get_contents(p, *type, 2, 2, 0, 2, i, a, nullptr, d), err_arg);
  ASSERT_EQ(type_get_contents(p, *type, 3, 2, 0, 2, i, a, nullptr, d), success);
  EXPECT_EQ(i[0], 2);
  EXPECT_EQ(i[2], 3);
  EXPECT_EQ(a[1], 64);
  EXPECT_NE(d[0], inner);
  EXPECT_EQ(d[0]->size, 16);
  EXPECT_EQ(d[1], &named(0x214));
  release(d[0]);
  release(inner);
  release(type);
  EXPECT_EQ(type_get_contents(p, named(0x209), 0, 0, 0, 0, nullptr, nullptr, nullptr, {}), err_type);
}

TEST_F(Queries, LargeCountsAreReportedAsSuch) {
  Datatype* type = nullptr;
  const Count lengths[] = {1, 2}, displacements[] = {0, 5};
  type_indexed(p, 2, CountArray(lengths), CountArray(displacements), named(0x209), type, true);
  Count integers = 0, addresses = 0, large = 0, types = 0;
  int combiner = 0;
  type_get_envelope(p, *type, integers, addresses, large, types, combiner, true);
  EXPECT_EQ(integers, 0);
  EXPECT_EQ(large, 5);
  release(type);
}

TEST_F(Queries, FortranKinds) {
  Datatype *one = nullptr, *two = nullptr;
  ASSERT_EQ(type_create_f90_real(p, 6, 30, one), success);
  ASSERT_EQ(type_create_f90_real(p, 6, 30, two), success);
  EXPECT_EQ(one, two);
  EXPECT_EQ(one->size, 4);
  EXPECT_EQ(type_free(p, one), err_type);
  ASSERT_EQ(type_create_f90_complex(p, 15, undefined, one), success);
  EXPECT_EQ(one->size, 16);
  ASSERT_EQ(type_create_f90_integer(p, 9, one), success);
  EXPECT_EQ(one->size, 4);
  EXPECT_EQ(type_create_f90_integer(p, 39, one), err_arg);
  EXPECT_EQ(type_create_f90_real(p, undefined, undefined, one), err_arg);
  ASSERT_EQ(type_match_size(p, 194, 8, one), success);
  EXPECT_EQ(one, &named(0x2db));
  EXPECT_EQ(type_match_size(p, 193, 3, one), err_arg);
  // The bits of a long double are not those of a REAL*16.
  for (const bool fortran : {false, true}) {
    p.fortran.info_set = fortran;
    ASSERT_EQ(type_match_size(p, 193, sizeof(long double), one), success);
    EXPECT_EQ(one, predefined_datatype(fortran ? 0x2e2 : 0x220));
    ASSERT_EQ(type_match_size(p, 194, 2 * sizeof(long double), one), success);
    EXPECT_EQ(one, predefined_datatype(fortran ? 0x2eb : 0x224));
  }
  ASSERT_EQ(type_get_value_index(p, named(0x214), named(0x209), one), success);
  EXPECT_EQ(one, &named(0x229));
}

TEST_F(Queries, Names) {
  char name[128];
  int length = 0;
  type_get_name(p, &named(0x209), name, length);
  EXPECT_STREQ(name, "MPI_INT");
  type_get_name(p, nullptr, name, length);
  EXPECT_STREQ(name, "MPI_DATATYPE_NULL");
  Datatype* type = nullptr;
  type_dup(p, named(0x209), type);
  type_get_name(p, type, name, length);
  EXPECT_EQ(length, 0);
  type_set_name(p, *type, std::string(500, 'x').c_str());
  type_get_name(p, type, name, length);
  EXPECT_EQ(length, 127);
  EXPECT_EQ(type_free(p, type), success);
}

}  // namespace
}  // namespace hf::mpi
