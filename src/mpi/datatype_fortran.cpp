// Datatypes found by precision, range or size, and pairs by their parts (MPI 5.0, 5.1.11, 19.1.9).
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "mpi/api.hpp"
#include "mpi/datatype_body.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// The kinds of gfortran on x86-64, smallest first; the predefined types that are the same.
struct RealKind {
  int precision, range;  // decimal
  int real, complex;
};
constexpr RealKind real_kinds[] = {
    {6, 37, 0x2d2, 0x2db},     // REAL(4): MPI_REAL4, MPI_COMPLEX8
    {15, 307, 0x2da, 0x2e3},   // REAL(8): MPI_REAL8, MPI_COMPLEX16
    {18, 4931, 0x220, 0x224},  // REAL(10): MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX
    {33, 4931, 0x2e2, 0x2eb},  // REAL(16): MPI_REAL16, MPI_COMPLEX32
};
struct IntegerKind {
  int range;
  int integer;
};
constexpr IntegerKind integer_kinds[] = {{2, 0x2c1}, {4, 0x2c9}, {9, 0x2d1}, {18, 0x2d9}, {38, 0x2e1}};

// One type for each pair of arguments, kept for good: predefined without a name (19.1.9).
Datatype* kind_type(int combiner, int base, std::initializer_list<int> arguments) {
  static auto& made = *new std::map<std::tuple<int, int, int>, Datatype*>;  // outlives all static objects
  Datatype*& type = made[{combiner, *arguments.begin(), *(arguments.end() - 1)}];
  if (type) return type;
  const Datatype& like = *predefined_datatype(base);
  Envelope envelope(combiner);
  for (int argument : arguments) envelope.add_int(argument);
  type = make_datatype(like.body->shape, std::move(envelope));
  type->predefined = type->committed = true;
  type->basic = like.basic;
  type->basic_bytes = like.basic_bytes;
  type->operand = like.operand;
  return type;
}

int find_real(Process& p, int precision, int range, const RealKind*& found) {
  const bool neither = precision == undefined && range == undefined;
  if (neither || (precision < 0 && precision != undefined) || (range < 0 && range != undefined)) {
    return p.explain(err_arg, fmt::format("precision {} and range {} do not ask for a kind of real", precision, range));
  }
  for (const RealKind& kind : real_kinds) {
    if (precision > kind.precision || range > kind.range) continue;
    found = &kind;
    return success;
  }
  return p.explain(err_arg, fmt::format("no kind of real has precision {} and range {}", precision, range));
}

// The named type of a class and size, or 0. A real of 16 bytes is a long double of C, unless a Fortran compiler is there whose
// REAL*16 it may be (19.1.9, 20.4): the two have the same size and not the same bits.
int sized_type(int typeclass, int size, bool fortran) {
  constexpr int integer = 192, real = 193, complex = 194;
  static constexpr struct {
    int typeclass, size, type;
  } sized[] = {
      {integer, 1, 0x2c1}, {integer, 2, 0x2c9},  {integer, 4, 0x2d1},  {integer, 8, 0x2d9}, {integer, 16, 0x2e1},
      {real, 2, 0x2ca},    {real, 4, 0x2d2},     {real, 8, 0x2da},     {real, 16, 0x2e2},   {complex, 4, 0x2d3},
      {complex, 8, 0x2db}, {complex, 16, 0x2e3}, {complex, 32, 0x2eb},
  };
  if (!fortran && typeclass == real && size == 16) return 0x220;     // MPI_LONG_DOUBLE
  if (!fortran && typeclass == complex && size == 32) return 0x224;  // MPI_C_LONG_DOUBLE_COMPLEX
  for (const auto& one : sized) {
    if (one.typeclass == typeclass && one.size == size) return one.type;
  }
  return 0;
}

}  // namespace

int type_create_f90_real(Process& p, int precision, int r, Datatype*& newtype) {
  const RealKind* kind = nullptr;
  if (int code = find_real(p, precision, r, kind)) return code;
  newtype = retain(kind_type(combiner::f90_real, kind->real, {precision, r}));
  return success;
}

int type_create_f90_complex(Process& p, int precision, int r, Datatype*& newtype) {
  const RealKind* kind = nullptr;
  if (int code = find_real(p, precision, r, kind)) return code;
  newtype = retain(kind_type(combiner::f90_complex, kind->complex, {precision, r}));
  return success;
}

int type_create_f90_integer(Process& p, int r, Datatype*& newtype) {
  for (const IntegerKind& kind : integer_kinds) {
    if (r > kind.range) continue;
    newtype = retain(kind_type(combiner::f90_integer, kind.integer, {r}));
    return success;
  }
  return p.explain(err_arg, fmt::format("no kind of integer has range {}", r));
}

int type_match_size(Process& p, int typeclass, int size, Datatype*& type) {
  const int value = sized_type(typeclass, size, p.fortran.info_set);
  if (value == 0) return p.explain(err_arg, fmt::format("no datatype of class {} has {} bytes", typeclass, size));
  type = retain(predefined_datatype(value));
  return success;
}

int type_get_value_index(Process&, Datatype& value_type, Datatype& index_type, Datatype*& pair_type) {
  static constexpr struct {
    int value, index, pair;
  } pairs[] = {
      {0x210, 0x209, 0x228}, {0x214, 0x209, 0x229}, {0x20a, 0x209, 0x22a}, {0x209, 0x209, 0x22b}, {0x208, 0x209, 0x22c},
      {0x220, 0x209, 0x22d}, {0x21a, 0x21a, 0x230}, {0x21c, 0x21c, 0x231}, {0x219, 0x219, 0x232},
  };
  pair_type = nullptr;
  for (const auto& one : pairs) {
    if (&value_type == predefined_datatype(one.value) && &index_type == predefined_datatype(one.index)) {
      pair_type = retain(predefined_datatype(one.pair));
    }
  }
  return success;
}

}  // namespace hf::mpi
