// Datatypes (MPI 5.0, chapter 5) and packing, resumable at any byte of the packed form, on both sides.
#pragma once
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "mpi/attribute.hpp"
#include "mpi/constants.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

// Storage class of one basic element: what reductions and the type signature are about.
enum class Basic : std::uint8_t {
  none,
  byte,
  packed,
  chars,
  boolean,
  int8,
  int16,
  int32,
  int64,
  int128,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  float80,
  float128,
  complex32,
  complex64,
  complex128,
  complex160,
  complex256,
  logical8,
  logical16,
  logical32,
  logical64,
  logical128,
  aint,
  count,
  offset,
  float_int,
  double_int,
  long_int,
  int_int,
  short_int,
  long_double_int,
  float_float,
  double_double,
  int_int_fortran,
};

struct Datatype : Object {
  Count size = 0;  // bytes of data
  Count lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  bool committed = false;
  bool contiguous = false;      // size == extent, one run at displacement 0: a count of them is one run of bytes
  Basic basic = Basic::none;    // of a predefined type; of a derived type made of one basic kind only: that kind
  Count basic_bytes = 0;        // size of that basic element
  int nesting = 0;              // of predefined types; one more than the types that it is made of
  Basic operand = Basic::none;  // what predefined operations see: predefined types and their duplicates only
  std::string name;
  AttributeMap attributes;
  // The representation, constructor envelope and contents: datatype_body.hpp.
  struct Body;
  std::shared_ptr<const Body> body;
};

// Packs bytes [offset, offset + out.size()) of the packed form of `count` elements at `buffer`.
// Any offset and size within count * size are legal. A call costs the depth of the type (and a search in each list of
// blocks on the way) to find its place, then O(bytes); no state is kept between calls.
void pack_range(const Datatype& type, const void* buffer, Count count, std::size_t offset, MutableBytes out);
void unpack_range(const Datatype& type, void* buffer, Count count, std::size_t offset, Bytes in);
// Copies count elements of one type to another layout with the same signature, through pack where neither is
// contiguous. Copies min of both sizes; false when the destination was too small.
bool copy_typed(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type);

}  // namespace hf::mpi
