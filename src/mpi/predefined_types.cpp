// The predefined datatypes of the standard ABI (MPI 5.0, 20.3.3 and A.1.1), for x86-64: their values, sizes and
// representation in external32 (table 14.2).
#include <array>
#include <complex>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "mpi/datatype_body.hpp"
#include "mpi/predefined.hpp"

namespace hf::mpi {
namespace {

using signature::Element;
using signature::External;

struct Plain {
  int value;
  std::string_view name;
  Basic basic;
  int bytes;  // of a component
  int external_bytes;
  External external;
  int components = 1;
};

constexpr External raw = External::bytes, swapped = External::swapped, signed_int = External::signed_integer,
                   unsigned_int = External::unsigned_integer, extended = External::float80;

static_assert(std::is_signed_v<char> && sizeof(long) == 8 && sizeof(long double) == 16 && sizeof(wchar_t) == 4);

constexpr Plain plain_types[] = {
    {0x201, "MPI_AINT", Basic::aint, 8, 8, swapped},
    {0x202, "MPI_COUNT", Basic::count, 8, 8, swapped},
    {0x203, "MPI_OFFSET", Basic::offset, 8, 8, swapped},
    {0x207, "MPI_PACKED", Basic::packed, 1, 1, raw},
    {0x208, "MPI_SHORT", Basic::int16, 2, 2, swapped},
    {0x209, "MPI_INT", Basic::int32, 4, 4, swapped},
    {0x20a, "MPI_LONG", Basic::int64, 8, 4, signed_int},
    {0x20b, "MPI_LONG_LONG", Basic::int64, 8, 8, swapped},
    {0x20c, "MPI_UNSIGNED_SHORT", Basic::uint16, 2, 2, swapped},
    {0x20d, "MPI_UNSIGNED", Basic::uint32, 4, 4, swapped},
    {0x20e, "MPI_UNSIGNED_LONG", Basic::uint64, 8, 4, unsigned_int},
    {0x20f, "MPI_UNSIGNED_LONG_LONG", Basic::uint64, 8, 8, swapped},
    {0x210, "MPI_FLOAT", Basic::float32, 4, 4, swapped},
    {0x212, "MPI_C_FLOAT_COMPLEX", Basic::complex64, 4, 4, swapped, 2},
    {0x213, "MPI_CXX_FLOAT_COMPLEX", Basic::complex64, 4, 4, swapped, 2},
    {0x214, "MPI_DOUBLE", Basic::float64, 8, 8, swapped},
    {0x216, "MPI_C_DOUBLE_COMPLEX", Basic::complex128, 8, 8, swapped, 2},
    {0x217, "MPI_CXX_DOUBLE_COMPLEX", Basic::complex128, 8, 8, swapped, 2},
    {0x218, "MPI_LOGICAL", Basic::logical32, 4, 4, swapped},
    {0x219, "MPI_INTEGER", Basic::int32, 4, 4, swapped},
    {0x21a, "MPI_REAL", Basic::float32, 4, 4, swapped},
    {0x21b, "MPI_COMPLEX", Basic::complex64, 4, 4, swapped, 2},
    {0x21c, "MPI_DOUBLE_PRECISION", Basic::float64, 8, 8, swapped},
    {0x21d, "MPI_DOUBLE_COMPLEX", Basic::complex128, 8, 8, swapped, 2},
    {0x21e, "MPI_CHARACTER", Basic::chars, 1, 1, raw},
    {0x220, "MPI_LONG_DOUBLE", Basic::float80, 16, 16, extended},
    {0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Basic::complex160, 16, 16, extended, 2},
    {0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Basic::complex160, 16, 16, extended, 2},
    {0x238, "MPI_C_BOOL", Basic::boolean, 1, 1, raw},
    {0x239, "MPI_CXX_BOOL", Basic::boolean, 1, 1, raw},
    {0x23c, "MPI_WCHAR", Basic::chars, 4, 2, unsigned_int},
    {0x240, "MPI_INT8_T", Basic::int8, 1, 1, raw},
    {0x241, "MPI_UINT8_T", Basic::uint8, 1, 1, raw},
    {0x243, "MPI_CHAR", Basic::chars, 1, 1, raw},
    {0x244, "MPI_SIGNED_CHAR", Basic::int8, 1, 1, raw},
    {0x245, "MPI_UNSIGNED_CHAR", Basic::uint8, 1, 1, raw},
    {0x247, "MPI_BYTE", Basic::byte, 1, 1, raw},
    {0x248, "MPI_INT16_T", Basic::int16, 2, 2, swapped},
    {0x249, "MPI_UINT16_T", Basic::uint16, 2, 2, swapped},
    {0x250, "MPI_INT32_T", Basic::int32, 4, 4, swapped},
    {0x251, "MPI_UINT32_T", Basic::uint32, 4, 4, swapped},
    {0x258, "MPI_INT64_T", Basic::int64, 8, 8, swapped},
    {0x259, "MPI_UINT64_T", Basic::uint64, 8, 8, swapped},
    {0x2c0, "MPI_LOGICAL1", Basic::logical8, 1, 1, raw},
    {0x2c1, "MPI_INTEGER1", Basic::int8, 1, 1, raw},
    {0x2c8, "MPI_LOGICAL2", Basic::logical16, 2, 2, swapped},
    {0x2c9, "MPI_INTEGER2", Basic::int16, 2, 2, swapped},
    {0x2ca, "MPI_REAL2", Basic::float16, 2, 2, swapped},
    {0x2d0, "MPI_LOGICAL4", Basic::logical32, 4, 4, swapped},
    {0x2d1, "MPI_INTEGER4", Basic::int32, 4, 4, swapped},
    {0x2d2, "MPI_REAL4", Basic::float32, 4, 4, swapped},
    {0x2d3, "MPI_COMPLEX4", Basic::complex32, 2, 2, swapped, 2},
    {0x2d8, "MPI_LOGICAL8", Basic::logical64, 8, 8, swapped},
    {0x2d9, "MPI_INTEGER8", Basic::int64, 8, 8, swapped},
    {0x2da, "MPI_REAL8", Basic::float64, 8, 8, swapped},
    {0x2db, "MPI_COMPLEX8", Basic::complex64, 4, 4, swapped, 2},
    {0x2e0, "MPI_LOGICAL16", Basic::logical128, 16, 16, swapped},
    {0x2e1, "MPI_INTEGER16", Basic::int128, 16, 16, swapped},
    {0x2e2, "MPI_REAL16", Basic::float128, 16, 16, swapped},
    {0x2e3, "MPI_COMPLEX16", Basic::complex128, 8, 8, swapped, 2},
    {0x2eb, "MPI_COMPLEX32", Basic::complex256, 16, 16, swapped, 2},
};

// A value and an index, for MPI_MAXLOC and MPI_MINLOC: laid out as the C struct of the two.
struct Pair {
  int value;
  std::string_view name;
  Basic basic;
  int first, second;  // predefined types
};

constexpr Pair pair_types[] = {
    {0x228, "MPI_FLOAT_INT", Basic::float_int, 0x210, 0x209},
    {0x229, "MPI_DOUBLE_INT", Basic::double_int, 0x214, 0x209},
    {0x22a, "MPI_LONG_INT", Basic::long_int, 0x20a, 0x209},
    {0x22b, "MPI_2INT", Basic::int_int, 0x209, 0x209},
    {0x22c, "MPI_SHORT_INT", Basic::short_int, 0x208, 0x209},
    {0x22d, "MPI_LONG_DOUBLE_INT", Basic::long_double_int, 0x220, 0x209},
    {0x230, "MPI_2REAL", Basic::float_float, 0x21a, 0x21a},
    {0x231, "MPI_2DOUBLE_PRECISION", Basic::double_double, 0x21c, 0x21c},
    {0x232, "MPI_2INTEGER", Basic::int_int_fortran, 0x219, 0x219},
};

constexpr int first_value = 0x200, value_count = 0x100;
using Table = std::array<Datatype*, value_count>;

void enter(Table& table, int value, std::string_view name, Basic basic, Shape shape) {
  Datatype* type = make_datatype(std::move(shape), Envelope(combiner::named));
  type->predefined = true;
  type->committed = true;
  type->name = name;
  type->basic = type->operand = basic;
  type->basic_bytes = type->size;
  table[static_cast<std::size_t>(value - first_value)] = type;
}

Table make_table() {
  Table table{};
  for (const Plain& plain : plain_types) {
    const Element element{plain.basic, static_cast<std::uint8_t>(plain.bytes),
                          static_cast<std::uint8_t>(plain.external_bytes), static_cast<std::uint8_t>(plain.components),
                          plain.external};
    Shape shape;
    shape.size = shape.ub = shape.true_ub = element.native_size();
    shape.alignment = plain.bytes;
    shape.place = layout::run(shape.size);
    shape.signature = signature::run(element, 1);
    enter(table, plain.value, plain.name, plain.basic, std::move(shape));
  }
  // The table of 6.9.2 leaves MPI_CHAR out; other MPIs reduce it as the integer that a char is in C, and programs do so.
  table[0x243 - first_value]->operand = Basic::int8;
  for (const Pair& pair : pair_types) {
    const Shape& first = table[static_cast<std::size_t>(pair.first - first_value)]->body->shape;
    const Shape& second = table[static_cast<std::size_t>(pair.second - first_value)]->body->shape;
    const Count at = (first.size + second.alignment - 1) / second.alignment * second.alignment;
    enter(table, pair.value, pair.name, pair.basic, padded(list({{0, &first}, {at, &second}})));
  }
  return table;
}

}  // namespace

Datatype* predefined_datatype(int abi_value) {
  static const Table table = make_table();
  if (abi_value < first_value || abi_value >= first_value + value_count) return nullptr;
  return table[static_cast<std::size_t>(abi_value - first_value)];
}

}  // namespace hf::mpi
