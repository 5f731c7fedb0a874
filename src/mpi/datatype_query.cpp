// Life and properties of datatypes (MPI 5.0, 5.1.5 to 5.1.13).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "mpi/api.hpp"
#include "mpi/datatype_body.hpp"
#include "mpi/datatype_construct.hpp"
#include "mpi/process.hpp"
#include "mpi/status.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t max_object_name = 128;

}  // namespace

int type_commit(Process&, Datatype& type) {
  type.committed = true;
  return success;
}

int type_free(Process& p, Datatype*& type) {
  if (type->predefined) return p.explain(err_type, "a predefined datatype cannot be freed");
  if (int code = delete_attributes(p, *type)) return code;
  release(type);
  type = nullptr;
  return success;
}

int type_dup(Process& p, Datatype& oldtype, Datatype*& newtype) {
  Envelope envelope(combiner::dup);
  envelope.add_type(oldtype);
  if (int code = check_nesting(p, envelope)) return code;
  Datatype* copy = make_datatype(oldtype.body->shape, std::move(envelope));
  copy->committed = oldtype.committed;
  copy->basic = oldtype.basic;
  copy->basic_bytes = oldtype.basic_bytes;
  copy->operand = oldtype.operand;
  if (int code = copy_attributes(p, oldtype, *copy)) {
    release(copy);
    return code;
  }
  newtype = copy;
  return success;
}

int type_size(Process&, Datatype& type, Count& size) {
  size = type.size;
  return success;
}

int type_get_extent(Process&, Datatype& type, Count& lb, Count& extent) {
  lb = type.lb;
  extent = type.extent;
  return success;
}

int type_get_true_extent(Process&, Datatype& type, Count& true_lb, Count& true_extent) {
  true_lb = type.true_lb;
  true_extent = type.true_extent;
  return success;
}

namespace {

// The forms without large counts have no room for them (MPI 5.0, 5.1.13).
int check_form(Process& p, const Datatype& type, bool large_form) {
  if (large_form || type.body->envelope.large_counts.empty()) return success;
  return p.explain(err_type, fmt::format("{} was made with large counts: the function whose name ends with _c tells of them", type.name));
}

}  // namespace

int type_get_envelope(Process& p, Datatype& type, Count& integers, Count& addresses, Count& large_counts, Count& types,
                      int& combiner, bool large_form) {
  if (int code = check_form(p, type, large_form)) return code;
  const Envelope& envelope = type.body->envelope;
  integers = static_cast<Count>(envelope.integers.size());
  addresses = static_cast<Count>(envelope.addresses.size());
  large_counts = static_cast<Count>(envelope.large_counts.size());
  types = static_cast<Count>(envelope.types.size());
  combiner = envelope.combiner;
  return success;
}

int type_get_contents(Process& p, Datatype& type, Count max_integers, Count max_addresses, Count max_large_counts,
                      Count max_types, int* integers, Count* addresses, Count* large_counts,
                      std::span<Datatype*> types, bool large_form) {
  if (int code = check_form(p, type, large_form)) return code;
  const Envelope& envelope = type.body->envelope;
  if (envelope.combiner == combiner::named) {
    return p.explain(err_type, fmt::format("{} is a predefined datatype: it has no contents", type.name));
  }
  const auto too_small = [](Count room, const auto& list) { return room < static_cast<Count>(list.size()); };
  if (too_small(max_integers, envelope.integers) || too_small(max_addresses, envelope.addresses) ||
      too_small(max_large_counts, envelope.large_counts) || too_small(max_types, envelope.types)) {
    return p.explain(err_arg,
                     fmt::format("the contents are {} integers, {} addresses, {} large counts and {} datatypes",
                                 envelope.integers.size(), envelope.addresses.size(), envelope.large_counts.size(),
                                 envelope.types.size()));
  }
  std::ranges::copy(envelope.integers, integers);
  std::ranges::copy(envelope.addresses, addresses);
  std::ranges::copy(envelope.large_counts, large_counts);
  std::ranges::transform(envelope.types, types.begin(), [](Datatype* one) { return copy_datatype(*one); });
  return success;
}

int type_set_name(Process&, Datatype& type, const char* name) {
  type.name.assign(name, strnlen(name, max_object_name - 1));
  return success;
}

int type_get_name(Process&, Datatype* type, char* name, int& length) {
  const std::string_view text = type ? std::string_view(type->name) : "MPI_DATATYPE_NULL";
  std::memcpy(name, text.data(), text.size());
  name[text.size()] = '\0';
  length = static_cast<int>(text.size());
  return success;
}

int get_elements(Process&, const Status& status, Datatype& type, Count& count) {
  count = 0;
  if (type.size == 0) return success;
  const signature::Node& node = *type.body->shape.signature;
  bool exact = true;
  Count elements = signature::elements_within(node, status.bytes % type.size, exact);
  if (__builtin_mul_overflow(status.bytes / type.size, node.elements, &count) ||
      __builtin_add_overflow(count, elements, &count) || !exact) {
    count = undefined;
  }
  return success;
}

int get_address(Process&, const void* location, Count& address) {
  address = static_cast<Count>(reinterpret_cast<std::uintptr_t>(location));
  return success;
}

}  // namespace hf::mpi
