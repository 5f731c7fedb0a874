// Where the bytes of a datatype lie: a tree of repetitions and lists of runs, in the order of the type map. Its size is
// that of the constructor's arguments, however large the counts, and any byte of the packed form is found by division
// or binary search on the way down.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "mpi/constants.hpp"

namespace hf::mpi::layout {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// A node describes bytes relative to its own origin. Immutable and shared between datatypes; size > 0.
struct Node {
  Count size = 0;  // bytes of data
  bool is_list = false;
  // Repetition: `count` items, `stride` bytes apart; an item is a child, or without child a run of `unit` bytes.
  // List: items at `displacements`; item i is children[i], or without children a run. `begins` holds the packed offset
  // of each item and the size; it is empty when all items are runs of `unit` bytes.
  Count count = 0;
  Count stride = 0;
  Count unit = 0;
  NodePtr child;
  std::vector<Count> displacements;
  std::vector<Count> begins;
  std::vector<NodePtr> children;

  bool is_run() const { return !is_list && count == 1 && !child; }
};

// A node at a displacement; without node there are no bytes.
struct Place {
  Count displacement = 0;
  NodePtr node;
  Count size() const { return node ? node->size : 0; }
};

Place run(Count bytes);
// `count` times what stands at `item`, `stride` bytes apart. Neighbouring bytes become one run, nested repetitions one
// where they can. The caller has checked that count * size does not overflow.
Place repeat(Count count, Count stride, const Place& item);
// All places in order.
Place list(const std::vector<Place>& places);

enum class Direction : std::uint8_t { pack, unpack };
// Moves the packed bytes [offset, offset + bytes) of `count` repetitions of a place, `extent` apart, between the
// program's buffer at address `base` and `packed`.
template <Direction direction>
void transfer(const Place& place, Count extent, std::uintptr_t base, Count offset, Count bytes, std::byte* packed);

}  // namespace hf::mpi::layout
