// Datatypes that describe parts of arrays (MPI 5.0, 5.1.3 and 5.1.4).
#include <fmt/format.h>

#include "mpi/api.hpp"
#include "mpi/datatype_construct.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int order_c = 0xc, order_fortran = 0xf;
constexpr int distribute_none = 16, distribute_block = 17, distribute_cyclic = 18, default_argument = 19;

int check_order(Process& p, int order) {
  if (order == order_c || order == order_fortran) return success;
  return p.explain(err_arg, fmt::format("order {} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order));
}

// Visits the dimensions from the one whose elements are neighbours in memory to the slowest.
template <class Visit>
void each_dimension(int ndims, int order, Visit&& visit) {
  for (int i = 0; i < ndims; ++i) visit(static_cast<std::size_t>(order == order_c ? ndims - 1 - i : i));
}

// One dimension of a distributed array, for one process.
struct Dimension {
  Count size = 0;       // of the whole array
  Count processes = 1;  // of the process grid
  Count coordinate = 0;
  Count block = 0;  // elements in a row on one process

  // What this process has of it; `item` is one element, elements are `extent` bytes apart.
  Shape part(const Shape& item, Count extent) const {
    const Count cycle = processes * block;  // at most size + block * processes: checked by the caller
    const Count first = coordinate * block;
    const Count whole_cycles = first < size ? (size - first) / cycle : 0;
    const Count tail_begin = first + whole_cycles * cycle;
    const Count tail = tail_begin < size ? std::min(block, size - tail_begin) : 0;
    // The cycle that the tail stands in is whole too when the tail is a whole block.
    const Count blocks = whole_cycles + (tail == block ? 1 : 0);
    const Shape row = repeat(block, extent, item);
    const Shape rows = repeat(blocks, cycle * extent, row);
    const Shape rest = repeat(tail == block ? 0 : tail, extent, item);
    return list({{first * extent, &rows}, {tail_begin * extent, &rest}});
  }
};

int block_length(Process& p, int distribution, int argument, Dimension& dimension) {
  const Count even = (dimension.size + dimension.processes - 1) / dimension.processes;
  switch (distribution) {
    case distribute_none:
      if (dimension.processes != 1) {
        return p.explain(err_arg, "a dimension with MPI_DISTRIBUTE_NONE needs a process grid of size 1");
      }
      dimension.block = dimension.size;
      return success;
    case distribute_block:
      dimension.block = argument == default_argument ? even : argument;
      if (dimension.block < even) {
        return p.explain(err_arg, fmt::format("blocks of {} elements on {} processes do not cover {} elements",
                                              dimension.block, dimension.processes, dimension.size));
      }
      return success;
    case distribute_cyclic:
      dimension.block = argument == default_argument ? 1 : argument;
      if (dimension.block <= 0)
        return p.explain(err_arg, fmt::format("a cyclic block of {} elements", dimension.block));
      return success;
    default:
      return p.explain(err_arg, fmt::format("{} is not a distribution", distribution));
  }
}

int dimensions_of(Process& p, int size, int rank, CountArray gsizes, std::span<const int> distribs, const int* dargs,
                  const int* psizes, std::vector<Dimension>& out) {
  if (size < 1 || rank < 0 || rank >= size) {
    return p.explain(err_arg, fmt::format("rank {} of a process grid of {}", rank, size));
  }
  Count processes = 1;
  for (std::size_t i = 0; i < distribs.size(); ++i) {
    if (gsizes[i] < 1 || psizes[i] < 1) {
      return p.explain(err_arg, fmt::format("dimension {}: size {} on {} processes", i, gsizes[i], psizes[i]));
    }
    if (__builtin_mul_overflow(processes, Count{psizes[i]}, &processes)) processes = -1;
  }
  if (processes != size) return p.explain(err_arg, fmt::format("the process grid does not have {} members", size));
  Count left = size, of_rank = rank;
  for (std::size_t i = 0; i < distribs.size(); ++i) {
    left /= psizes[i];
    Dimension dimension{gsizes[i], psizes[i], of_rank / left, 0};
    of_rank %= left;
    if (int code = block_length(p, distribs[i], dargs[i], dimension)) return code;
    dimension.block = std::min(dimension.block, dimension.size);
    out.push_back(dimension);
  }
  return success;
}

}  // namespace

int type_create_subarray(Process& p, int ndims, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                         Datatype& oldtype, Datatype*& newtype, bool large_form) {
  if (int code = check_order(p, order)) return code;
  if (ndims < 1) return p.explain(err_arg, fmt::format("an array of {} dimensions", ndims));
  for (std::size_t i = 0; i < static_cast<std::size_t>(ndims); ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 ||
        starts[i] > sizes[i] - subsizes[i]) {
      return p.explain(err_arg, fmt::format("dimension {}: {} elements from {} on do not lie in an array of {}", i,
                                            subsizes[i], starts[i], sizes[i]));
    }
  }
  Envelope envelope(combiner::subarray, large_form);
  envelope.add_int(ndims);
  envelope.add_counts(sizes, ndims);
  envelope.add_counts(subsizes, ndims);
  envelope.add_counts(starts, ndims);
  envelope.add_int(order);
  envelope.add_type(oldtype);
  Shape shape = oldtype.body->shape;
  Count extent = oldtype.extent;
  bool overflow = false;
  each_dimension(ndims, order, [&](std::size_t i) {
    if (overflow) return;
    Count begin = 0, next = 0;
    overflow = __builtin_mul_overflow(starts[i], extent, &begin) || __builtin_mul_overflow(sizes[i], extent, &next);
    if (overflow) return;
    const Shape row = repeat(subsizes[i], extent, shape);
    shape = list({{begin, &row}});
    extent = next;
  });
  shape.overflow |= overflow;
  return finish_type(p, resized(std::move(shape), 0, extent), std::move(envelope), newtype);
}

int type_create_darray(Process& p, int size, int rank, int ndims, CountArray gsizes, const int* distribs,
                       const int* dargs, const int* psizes, int order, Datatype& oldtype, Datatype*& newtype,
                       bool large_form) {
  if (int code = check_order(p, order)) return code;
  if (ndims < 1) return p.explain(err_arg, fmt::format("an array of {} dimensions", ndims));
  std::vector<Dimension> dimensions;
  const std::span<const int> distributions(distribs, static_cast<std::size_t>(ndims));
  if (int code = dimensions_of(p, size, rank, gsizes, distributions, dargs, psizes, dimensions)) return code;
  Envelope envelope(combiner::darray, large_form);
  envelope.add_int(size);
  envelope.add_int(rank);
  envelope.add_int(ndims);
  envelope.add_counts(gsizes, ndims);
  for (const int* values : {distribs, dargs, psizes}) envelope.add_ints(values, ndims);
  envelope.add_int(order);
  envelope.add_type(oldtype);
  Shape shape = oldtype.body->shape;
  Count extent = oldtype.extent;
  bool overflow = false;
  each_dimension(ndims, order, [&](std::size_t i) {
    // No element of a cycle may lie beyond what MPI_Count holds, in bytes.
    Count next = 0, cycles = 0;
    overflow = overflow || __builtin_mul_overflow(dimensions[i].size, extent, &next) ||
               __builtin_mul_overflow(dimensions[i].processes * dimensions[i].block, extent, &cycles);
    if (overflow) return;
    shape = dimensions[i].part(shape, extent);
    extent = next;
  });
  shape.overflow |= overflow;
  return finish_type(p, resized(std::move(shape), 0, extent), std::move(envelope), newtype);
}

}  // namespace hf::mpi
