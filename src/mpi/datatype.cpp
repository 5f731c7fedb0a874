#include "mpi/datatype.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include "mpi/datatype_body.hpp"

namespace hf::mpi {
namespace {

// Arithmetic that notes when a value leaves the range of MPI_Count.
struct Checked {
  bool overflow = false;
  Count add(Count a, Count b) {
    Count sum = 0;
    overflow |= __builtin_add_overflow(a, b, &sum);
    return sum;
  }
  Count subtract(Count a, Count b) {
    Count difference = 0;
    overflow |= __builtin_sub_overflow(a, b, &difference);
    return difference;
  }
  Count multiply(Count a, Count b) {
    Count product = 0;
    overflow |= __builtin_mul_overflow(a, b, &product);
    return product;
  }
};

// The bounds of several shapes together. Where one has a marker, only markers count (MPI 5.0, 5.1.6).
struct Bounds {
  Checked math;
  bool any = false, any_data = false;
  Shape sum;

  void add(const Shape& shape, Count displacement) {
    if (shape.empty()) return;
    widen(sum.lb, sum.lb_marked, shape.lb_marked, math.add(displacement, shape.lb), std::ranges::less());
    widen(sum.ub, sum.ub_marked, shape.ub_marked, math.add(displacement, shape.ub), std::ranges::greater());
    any = true;
    if (shape.size == 0) return;
    const Count low = math.add(displacement, shape.true_lb), high = math.add(displacement, shape.true_ub);
    sum.true_lb = any_data ? std::min(sum.true_lb, low) : low;
    sum.true_ub = any_data ? std::max(sum.true_ub, high) : high;
    any_data = true;
  }

 private:
  template <class Wider>
  void widen(Count& bound, bool& marked, bool is_marker, Count value, Wider wider) {
    if (marked && !is_marker) return;
    if (!any || (is_marker && !marked) || wider(value, bound)) bound = value;
    marked |= is_marker;
  }
};

}  // namespace

Shape repeat(Count count, Count stride, const Shape& item) {
  Bounds bounds;
  if (count > 0) {
    bounds.add(item, 0);
    bounds.add(item, bounds.math.multiply(count - 1, stride));
  }
  Shape out = bounds.sum;
  out.alignment = count > 0 ? item.alignment : 1;  // nothing is there to be aligned (MPI 5.0, 5.1.6)
  out.size = bounds.math.multiply(count, item.size);
  bounds.math.subtract(out.ub, out.lb);
  out.overflow = item.overflow || bounds.math.overflow;
  if (out.overflow) return out;
  out.place = layout::repeat(count, stride, item.place);
  out.signature = signature::repeat(count, item.signature);
  return out;
}

Shape list(const std::vector<PlacedShape>& items) {
  Bounds bounds;
  std::vector<layout::Place> places;
  std::vector<signature::NodePtr> signatures;
  places.reserve(items.size());
  signatures.reserve(items.size());
  Count size = 0, alignment = 1;
  for (const auto& [displacement, shape] : items) {
    bounds.add(*shape, displacement);
    bounds.math.overflow |= shape->overflow;
    size = bounds.math.add(size, shape->size);
    alignment = std::max(alignment, shape->alignment);
    if (bounds.math.overflow) break;
    places.push_back({bounds.math.add(displacement, shape->place.displacement), shape->place.node});
    signatures.push_back(shape->signature);
  }
  Shape out = bounds.sum;
  out.size = size;
  out.alignment = alignment;
  bounds.math.subtract(out.ub, out.lb);
  out.overflow = bounds.math.overflow;
  if (out.overflow) return out;
  out.place = layout::list(places);
  out.signature = signature::list(signatures);
  return out;
}

Shape resized(Shape shape, Count lb, Count extent) {
  Checked math;
  shape.lb = lb;
  shape.ub = math.add(lb, extent);
  shape.lb_marked = shape.ub_marked = true;
  shape.overflow |= math.overflow;
  return shape;
}

Shape padded(Shape shape) {
  if (shape.overflow || shape.ub_marked) return shape;
  Checked math;
  const Count rest = shape.extent() % shape.alignment;
  if (rest != 0) shape.ub = math.add(shape.ub, shape.alignment - rest);
  shape.overflow |= math.overflow;
  return shape;
}

Envelope::Envelope(Envelope&& other) noexcept
    : combiner(other.combiner),
      integers(std::move(other.integers)),
      addresses(std::move(other.addresses)),
      large_counts(std::move(other.large_counts)),
      types(std::move(other.types)),
      large_(other.large_) {
  other.types.clear();
}

Envelope::~Envelope() {
  for (Datatype* type : types) release(type);
}

void Envelope::add_count(Count value) {
  if (large_)
    large_counts.push_back(value);
  else
    integers.push_back(static_cast<int>(value));
}

void Envelope::add_counts(CountArray values, Count n) {
  for (Count i = 0; i < n; ++i) add_count(values[static_cast<std::size_t>(i)]);
}

void Envelope::add_address(Count value) {
  (large_ ? large_counts : addresses).push_back(value);
}

void Envelope::add_addresses(CountArray values, Count n) {
  for (Count i = 0; i < n; ++i) add_address(values[static_cast<std::size_t>(i)]);
}

void Envelope::add_type(const Datatype& type) {
  types.push_back(copy_datatype(type));
}

int Envelope::nesting() const {
  int deepest = 0;
  for (const Datatype* type : types) deepest = std::max(deepest, type->nesting + 1);
  return deepest;
}

Datatype* make_datatype(Shape shape, Envelope envelope) {
  auto type = std::make_unique<Datatype>();
  type->nesting = envelope.nesting();
  type->size = shape.size;
  type->lb = shape.lb;
  type->extent = shape.extent();
  type->true_lb = shape.true_lb;
  type->true_extent = shape.true_ub - shape.true_lb;
  const layout::Place& place = shape.place;
  type->contiguous =
      shape.size == type->extent && shape.lb == 0 && (!place.node || (place.node->is_run() && place.displacement == 0));
  if (const signature::Element* element = signature::only_element(shape.signature)) {
    type->basic = element->basic;
    type->basic_bytes = element->native_size();
  }
  type->body = std::make_shared<const Datatype::Body>(std::move(shape), std::move(envelope));
  return type.release();
}

Datatype* copy_datatype(const Datatype& type) {
  if (type.predefined) return retain(const_cast<Datatype*>(&type));
  auto* copy = new Datatype(type);
  copy->handle = 0;
  copy->references = 1;
  copy->name.clear();
  copy->attributes = {};
  return copy;
}

void pack_range(const Datatype& type, const void* buffer, Count count, std::size_t offset, MutableBytes out) {
  if (out.empty()) return;
  if (type.contiguous) {
    std::memcpy(out.data(), static_cast<const std::byte*>(buffer) + offset, out.size());
    return;
  }
  (void)count;
  layout::transfer<layout::Direction::pack>(type.body->shape.place, type.extent,
                                            reinterpret_cast<std::uintptr_t>(buffer), static_cast<Count>(offset),
                                            static_cast<Count>(out.size()), out.data());
}

void unpack_range(const Datatype& type, void* buffer, Count count, std::size_t offset, Bytes in) {
  if (in.empty()) return;
  if (type.contiguous) {
    std::memcpy(static_cast<std::byte*>(buffer) + offset, in.data(), in.size());
    return;
  }
  (void)count;
  // Unpacking only reads `in`; transfer has one signature for both directions.
  layout::transfer<layout::Direction::unpack>(type.body->shape.place, type.extent,
                                              reinterpret_cast<std::uintptr_t>(buffer), static_cast<Count>(offset),
                                              static_cast<Count>(in.size()), const_cast<std::byte*>(in.data()));
}

bool copy_typed(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type) {
  const Count available = from_count * from_type.size, room = to_count * to_type.size;
  const auto bytes = static_cast<std::size_t>(std::min(available, room));
  if (bytes > 0 && to_type.contiguous) {
    pack_range(from_type, from, from_count, 0, MutableBytes(static_cast<std::byte*>(to), bytes));
  } else if (bytes > 0 && from_type.contiguous) {
    unpack_range(to_type, to, to_count, 0, Bytes(static_cast<const std::byte*>(from), bytes));
  } else {
    std::byte piece[16 * 1024];
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t n = std::min(sizeof piece, bytes - done);
      pack_range(from_type, from, from_count, done, MutableBytes(piece, n));
      unpack_range(to_type, to, to_count, done, Bytes(piece, n));
      done += n;
    }
  }
  return available <= room;
}

}  // namespace hf::mpi
