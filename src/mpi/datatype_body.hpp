// What a datatype is made of: bounds, layout, signature (datatype_layout.hpp, datatype_signature.hpp) and how it was
// made.
#pragma once
#include <vector>

#include "mpi/arrays.hpp"
#include "mpi/datatype.hpp"
#include "mpi/datatype_layout.hpp"
#include "mpi/datatype_signature.hpp"

namespace hf::mpi {

// A type map with its bounds. All constructors are compositions of the functions below.
struct Shape {
  layout::Place place;
  signature::NodePtr signature;
  Count size = 0;
  Count lb = 0, ub = 0, true_lb = 0, true_ub = 0;
  bool lb_marked = false, ub_marked = false;  // set by a resize, and then binding for all types made of it (5.1.6)
  Count alignment = 1;
  bool overflow = false;  // does not fit into MPI_Count; all that is made of it neither
  Count extent() const { return ub - lb; }
  bool empty() const { return size == 0 && !lb_marked && !ub_marked; }
};

struct PlacedShape {
  Count displacement = 0;
  const Shape* shape = nullptr;
};

Shape repeat(Count count, Count stride, const Shape& item);  // stride in bytes
Shape list(const std::vector<PlacedShape>& items);
Shape resized(Shape shape, Count lb, Count extent);
Shape padded(Shape shape);  // extent rounded up to the alignment, as a compiler does with a struct

// How a type was made (MPI 5.0, 5.1.13). Datatypes in it are private copies, or predefined.
class Envelope {
 public:
  // large: counts and addresses are reported as large counts, as of the _c constructors.
  explicit Envelope(int combiner, bool large = false) : combiner(combiner), large_(large) {}
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;
  Envelope(Envelope&& other) noexcept;
  Envelope& operator=(Envelope&&) = delete;
  ~Envelope();

  void add_int(int value) { integers.push_back(value); }
  void add_ints(const int* values, Count n) { integers.insert(integers.end(), values, values + n); }
  void add_count(Count value);
  void add_counts(CountArray values, Count n);
  void add_address(Count value);
  void add_addresses(CountArray values, Count n);
  void add_type(const Datatype& type);
  int nesting() const;  // of the type that is made so

  int combiner;
  std::vector<int> integers;
  std::vector<Count> addresses;
  std::vector<Count> large_counts;
  std::vector<Datatype*> types;  // one reference each

 private:
  bool large_;
};

struct Datatype::Body {
  Shape shape;
  Envelope envelope;
};

namespace combiner {
inline constexpr int named = 101, dup = 102, contiguous = 103, vector = 104, hvector = 105, indexed = 106,
                     hindexed = 107, indexed_block = 108, hindexed_block = 109, structure = 110, subarray = 111,
                     darray = 112, f90_real = 113, f90_complex = 114, f90_integer = 115, resized = 116;
}

// Deeper ones are refused: what walks through a type is as deep on the stack.
inline constexpr int nesting_max = 4096;
// A new uncommitted datatype, one reference.
Datatype* make_datatype(Shape shape, Envelope envelope);
// A predefined type itself; of any other a new object without handle, name and attributes.
Datatype* copy_datatype(const Datatype& type);

}  // namespace hf::mpi
