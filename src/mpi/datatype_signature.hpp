// The type signature (MPI 5.0, 5.1.1): the sequence of basic elements in the packed form, compressed. It counts
// elements (MPI_Get_elements) and drives the conversion to and from external32.
#pragma once
#include <memory>
#include <vector>

#include "mpi/datatype.hpp"

namespace hf::mpi::signature {

// How a basic element is represented in external32 (MPI 5.0, 14.5.2): big-endian, sizes of its own.
enum class External : std::uint8_t { bytes, signed_integer, unsigned_integer, swapped, float80 };

struct Element {
  Basic basic = Basic::none;
  std::uint8_t bytes = 0;           // of one component, here
  std::uint8_t external_bytes = 0;  // of one component, in external32
  std::uint8_t components = 1;      // complex: 2
  External external = External::bytes;
  Count native_size() const { return Count{bytes} * components; }
  Count external_size() const { return Count{external_bytes} * components; }
  bool operator==(const Element&) const = default;
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;  // null: empty

struct Node {
  Count bytes = 0;           // native, packed
  Count external_bytes = 0;  // in external32
  Count elements = 0;
  // A run of `elements` equal elements; or `count` times `child`; or all of `children` in order.
  Element element;
  Count count = 0;
  NodePtr child;
  std::vector<NodePtr> children;
  std::vector<Count> begins;  // native offset of each of `children`
  bool is_run() const { return !child && children.empty(); }
};

NodePtr run(const Element& element, Count elements);
NodePtr repeat(Count count, const NodePtr& item);
NodePtr list(const std::vector<NodePtr>& items);

// Whole elements in the first `bytes` bytes; `exact` tells whether they end there. bytes <= node.bytes.
Count elements_within(const Node& node, Count bytes, bool& exact);
// The reverse: what the first `elements` elements take, in bytes. elements <= node.elements.
Count bytes_of_first(const Node& node, Count elements);
// The basic kind that all elements have in common, or null.
const Element* only_element(const NodePtr& node);

// Convert one whole signature; the cursors advance. False: a value has no representation on the other side.
bool to_external(const Node& node, const std::byte*& native, std::byte*& external);
bool from_external(const Node& node, const std::byte*& external, std::byte*& native);

}  // namespace hf::mpi::signature
