// Constructors of derived datatypes (MPI 5.0, 5.1.2 and 5.1.7 to 5.1.10).
#include "mpi/datatype_construct.hpp"

#include <fmt/format.h>

#include <map>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int check_nesting(Process& p, const Envelope& envelope) {
  if (envelope.nesting() <= nesting_max) return success;
  return p.explain(err_type, fmt::format("a datatype made of datatypes {} deep; {} is the limit", envelope.nesting(), nesting_max));
}

int finish_type(Process& p, Shape shape, Envelope envelope, Datatype*& newtype) {
  if (shape.overflow) return p.explain(err_count, "the datatype's size or extent does not fit into MPI_Count");
  if (int code = check_nesting(p, envelope)) return code;
  newtype = make_datatype(std::move(shape), std::move(envelope));
  return success;
}

namespace {

int check_block(Process& p, Count blocklength) {
  if (blocklength >= 0) return success;
  return p.explain(err_arg, fmt::format("block length {} is negative", blocklength));
}

int check_blocks(Process& p, CountArray blocklengths, Count count) {
  for (Count i = 0; i < count; ++i) {
    if (int code = check_block(p, blocklengths[static_cast<std::size_t>(i)])) return code;
  }
  return success;
}

// The products of displacements and an extent; overflow is remembered in `overflow`.
Count scaled(Count displacement, Count extent, bool& overflow) {
  Count bytes = 0;
  overflow |= __builtin_mul_overflow(displacement, extent, &bytes);
  return bytes;
}

// Blocks of one old type at displacements counted in `unit` bytes. length(i) is the length of block i.
template <class Length>
Shape blocks(Count count, Length&& length, CountArray displacements, Count unit, const Datatype& oldtype) {
  std::map<Count, Shape> of_length;
  std::vector<PlacedShape> items;
  items.reserve(static_cast<std::size_t>(count));
  bool overflow = false;
  for (Count i = 0; i < count; ++i) {
    auto [it, is_new] = of_length.try_emplace(length(i));
    if (is_new) it->second = repeat(it->first, oldtype.extent, oldtype.body->shape);
    items.push_back({scaled(displacements[static_cast<std::size_t>(i)], unit, overflow), &it->second});
  }
  Shape shape = list(items);
  shape.overflow |= overflow;
  return shape;
}

Shape strided(Count count, Count blocklength, Count stride, const Datatype& oldtype) {
  return repeat(count, stride, repeat(blocklength, oldtype.extent, oldtype.body->shape));
}

}  // namespace

int type_contiguous(Process& p, Count count, Datatype& oldtype, Datatype*& newtype, bool large_form) {
  Envelope envelope(combiner::contiguous, large_form);
  envelope.add_count(count);
  envelope.add_type(oldtype);
  return finish_type(p, repeat(count, oldtype.extent, oldtype.body->shape), std::move(envelope), newtype);
}

int type_vector(Process& p, Count count, Count blocklength, Count stride, Datatype& oldtype, Datatype*& newtype,
                bool large_form) {
  if (int code = check_block(p, blocklength)) return code;
  Envelope envelope(combiner::vector, large_form);
  envelope.add_count(count);
  envelope.add_count(blocklength);
  envelope.add_count(stride);
  envelope.add_type(oldtype);
  bool overflow = false;
  Shape shape = strided(count, blocklength, scaled(stride, oldtype.extent, overflow), oldtype);
  shape.overflow |= overflow;
  return finish_type(p, std::move(shape), std::move(envelope), newtype);
}

int type_create_hvector(Process& p, Count count, Count blocklength, Count stride, Datatype& oldtype, Datatype*& newtype,
                        bool large_form) {
  if (int code = check_block(p, blocklength)) return code;
  Envelope envelope(combiner::hvector, large_form);
  envelope.add_count(count);
  envelope.add_count(blocklength);
  envelope.add_address(stride);
  envelope.add_type(oldtype);
  return finish_type(p, strided(count, blocklength, stride, oldtype), std::move(envelope), newtype);
}

int type_indexed(Process& p, Count count, CountArray lengths, CountArray displacements, Datatype& oldtype,
                 Datatype*& newtype, bool large_form) {
  if (int code = check_blocks(p, lengths, count)) return code;
  Envelope envelope(combiner::indexed, large_form);
  envelope.add_count(count);
  envelope.add_counts(lengths, count);
  envelope.add_counts(displacements, count);
  envelope.add_type(oldtype);
  auto length = [&](Count i) { return lengths[static_cast<std::size_t>(i)]; };
  return finish_type(p, blocks(count, length, displacements, oldtype.extent, oldtype), std::move(envelope), newtype);
}

int type_create_hindexed(Process& p, Count count, CountArray lengths, CountArray displacements, Datatype& oldtype,
                         Datatype*& newtype, bool large_form) {
  if (int code = check_blocks(p, lengths, count)) return code;
  Envelope envelope(combiner::hindexed, large_form);
  envelope.add_count(count);
  envelope.add_counts(lengths, count);
  envelope.add_addresses(displacements, count);
  envelope.add_type(oldtype);
  auto length = [&](Count i) { return lengths[static_cast<std::size_t>(i)]; };
  return finish_type(p, blocks(count, length, displacements, 1, oldtype), std::move(envelope), newtype);
}

int type_create_indexed_block(Process& p, Count count, Count blocklength, CountArray displacements, Datatype& oldtype,
                              Datatype*& newtype, bool large_form) {
  if (int code = check_block(p, blocklength)) return code;
  Envelope envelope(combiner::indexed_block, large_form);
  envelope.add_count(count);
  envelope.add_count(blocklength);
  envelope.add_counts(displacements, count);
  envelope.add_type(oldtype);
  auto length = [&](Count) { return blocklength; };
  return finish_type(p, blocks(count, length, displacements, oldtype.extent, oldtype), std::move(envelope), newtype);
}

int type_create_hindexed_block(Process& p, Count count, Count blocklength, CountArray displacements, Datatype& oldtype,
                               Datatype*& newtype, bool large_form) {
  if (int code = check_block(p, blocklength)) return code;
  Envelope envelope(combiner::hindexed_block, large_form);
  envelope.add_count(count);
  envelope.add_count(blocklength);
  envelope.add_addresses(displacements, count);
  envelope.add_type(oldtype);
  auto length = [&](Count) { return blocklength; };
  return finish_type(p, blocks(count, length, displacements, 1, oldtype), std::move(envelope), newtype);
}

int type_create_struct(Process& p, Count count, CountArray lengths, CountArray displacements,
                       std::span<Datatype* const> types, Datatype*& newtype, bool large_form) {
  if (int code = check_blocks(p, lengths, count)) return code;
  Envelope envelope(combiner::structure, large_form);
  envelope.add_count(count);
  envelope.add_counts(lengths, count);
  envelope.add_addresses(displacements, count);
  std::vector<Shape> shapes;
  std::vector<PlacedShape> items;
  shapes.reserve(types.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    envelope.add_type(*types[i]);
    shapes.push_back(repeat(lengths[i], types[i]->extent, types[i]->body->shape));
    items.push_back({displacements[i], &shapes.back()});
  }
  return finish_type(p, padded(list(items)), std::move(envelope), newtype);
}

int type_create_resized(Process& p, Datatype& oldtype, Count lb, Count extent, Datatype*& newtype, bool large_form) {
  Envelope envelope(combiner::resized, large_form);
  envelope.add_address(lb);
  envelope.add_address(extent);
  envelope.add_type(oldtype);
  return finish_type(p, resized(oldtype.body->shape, lb, extent), std::move(envelope), newtype);
}

}  // namespace hf::mpi
