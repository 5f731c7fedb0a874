#include "mpi/datatype_signature.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hf::mpi::signature {

NodePtr run(const Element& element, Count elements) {
  if (elements == 0) return nullptr;
  auto node = std::make_shared<Node>();
  node->element = element;
  node->elements = elements;
  node->bytes = elements * element.native_size();
  node->external_bytes = elements * element.external_size();
  return node;
}

NodePtr repeat(Count count, const NodePtr& item) {
  if (count == 0 || !item) return nullptr;
  if (count == 1) return item;
  if (item->is_run()) return run(item->element, count * item->elements);
  auto node = std::make_shared<Node>();
  node->count = item->child ? count * item->count : count;
  node->child = item->child ? item->child : item;
  node->bytes = count * item->bytes;
  node->external_bytes = count * item->external_bytes;
  node->elements = count * item->elements;
  return node;
}

NodePtr list(const std::vector<NodePtr>& items) {
  std::vector<NodePtr> out;
  for (const NodePtr& item : items) {
    if (!item) continue;
    if (!out.empty() && item->is_run() && out.back()->is_run() && item->element == out.back()->element) {
      out.back() = run(item->element, out.back()->elements + item->elements);
    } else {
      out.push_back(item);
    }
  }
  if (out.empty()) return nullptr;
  if (out.size() == 1) return out[0];
  if (std::ranges::all_of(out, [&](const NodePtr& item) { return item == out[0]; })) {
    return repeat(static_cast<Count>(out.size()), out[0]);
  }
  auto node = std::make_shared<Node>();
  for (const NodePtr& item : out) {
    node->begins.push_back(node->bytes);
    node->bytes += item->bytes;
    node->external_bytes += item->external_bytes;
    node->elements += item->elements;
  }
  node->children = std::move(out);
  return node;
}

Count elements_within(const Node& node, Count bytes, bool& exact) {
  exact = true;
  if (bytes == node.bytes) return node.elements;
  if (node.is_run()) {
    exact = bytes % node.element.native_size() == 0;
    return bytes / node.element.native_size();
  }
  if (node.child) {
    const Count whole = bytes / node.child->bytes;
    return whole * node.child->elements + elements_within(*node.child, bytes % node.child->bytes, exact);
  }
  Count elements = 0;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Count left = bytes - node.begins[i];
    if (left < node.children[i]->bytes)
      return elements + (left > 0 ? elements_within(*node.children[i], left, exact) : 0);
    elements += node.children[i]->elements;
  }
  return elements;
}

Count bytes_of_first(const Node& node, Count elements) {
  if (elements == node.elements) return node.bytes;
  if (node.is_run()) return elements * node.element.native_size();
  if (node.child) {
    const Count whole = elements / node.child->elements;
    return whole * node.child->bytes + bytes_of_first(*node.child, elements % node.child->elements);
  }
  std::size_t i = 0;
  for (; elements >= node.children[i]->elements; ++i) elements -= node.children[i]->elements;
  return node.begins[i] + bytes_of_first(*node.children[i], elements);
}

// repeat() and list() make one run of what is of one kind.
const Element* only_element(const NodePtr& node) { return node && node->is_run() ? &node->element : nullptr; }

namespace {

static_assert(std::endian::native == std::endian::little);

void copy_swapped(const std::byte* from, std::byte* to, std::size_t bytes) {
  std::reverse_copy(from, from + bytes, to);
}

// Integers change size: the value must be the same on both sides.
bool resize_integer(const std::byte* from, std::size_t from_bytes, std::byte* to, std::size_t to_bytes,
                    bool is_signed) {
  const bool negative = is_signed && (std::to_integer<unsigned>(from[from_bytes - 1]) & 0x80) != 0;
  const std::byte filler = negative ? std::byte{0xff} : std::byte{0};
  for (std::size_t i = 0; i < to_bytes; ++i) to[i] = i < from_bytes ? from[i] : filler;
  for (std::size_t i = to_bytes; i < from_bytes; ++i) {
    if (from[i] != filler) return false;
  }
  return !is_signed || to_bytes >= from_bytes ||
         ((std::to_integer<unsigned>(to[to_bytes - 1]) & 0x80) != 0) == negative;
}

bool component_out(const Element& e, const std::byte* native, std::byte* external) {
  switch (e.external) {
    case External::bytes:
      std::memcpy(external, native, e.bytes);
      return true;
    case External::swapped:
      copy_swapped(native, external, e.bytes);
      return true;
    case External::float80: {
      long double value = 0;
      std::memcpy(&value, native, sizeof value);
      const __float128 wide = value;
      std::byte raw[16];
      std::memcpy(raw, &wide, sizeof raw);
      copy_swapped(raw, external, sizeof raw);
      return true;
    }
    case External::signed_integer:
    case External::unsigned_integer: {
      std::byte resized[16];
      const bool fits =
          resize_integer(native, e.bytes, resized, e.external_bytes, e.external == External::signed_integer);
      copy_swapped(resized, external, e.external_bytes);
      return fits;
    }
  }
  return false;
}

bool component_in(const Element& e, const std::byte* external, std::byte* native) {
  switch (e.external) {
    case External::bytes:
      std::memcpy(native, external, e.bytes);
      return true;
    case External::swapped:
      copy_swapped(external, native, e.bytes);
      return true;
    case External::float80: {
      std::byte raw[16];
      copy_swapped(external, raw, sizeof raw);
      __float128 wide = 0;
      std::memcpy(&wide, raw, sizeof raw);
      const auto value = static_cast<long double>(wide);
      std::memset(native, 0, e.bytes);
      std::memcpy(native, &value, 10);  // its other bytes are padding
      return true;
    }
    case External::signed_integer:
    case External::unsigned_integer: {
      std::byte raw[16];
      copy_swapped(external, raw, e.external_bytes);
      return resize_integer(raw, e.external_bytes, native, e.bytes, e.external == External::signed_integer);
    }
  }
  return false;
}

// Visits the runs of elements in order.
template <class Visit>
bool each_run(const Node& node, Visit&& visit) {
  if (node.is_run()) return visit(node.element, node.elements);
  if (node.child) {
    for (Count i = 0; i < node.count; ++i) {
      if (!each_run(*node.child, visit)) return false;
    }
    return true;
  }
  return std::ranges::all_of(node.children, [&](const NodePtr& child) { return each_run(*child, visit); });
}

}  // namespace

bool to_external(const Node& node, const std::byte*& native, std::byte*& external) {
  return each_run(node, [&](const Element& element, Count elements) {
    for (Count i = 0; i < elements * element.components; ++i) {
      if (!component_out(element, native, external)) return false;
      native += element.bytes;
      external += element.external_bytes;
    }
    return true;
  });
}

bool from_external(const Node& node, const std::byte*& external, std::byte*& native) {
  return each_run(node, [&](const Element& element, Count elements) {
    for (Count i = 0; i < elements * element.components; ++i) {
      if (!component_in(element, external, native)) return false;
      native += element.bytes;
      external += element.external_bytes;
    }
    return true;
  });
}

}  // namespace hf::mpi::signature
