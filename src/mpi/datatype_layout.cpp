#include "mpi/datatype_layout.hpp"

#include <algorithm>
#include <cstring>

namespace hf::mpi::layout {
namespace {

bool all_runs(const std::vector<Place>& places) {
  return std::ranges::all_of(places, [](const Place& place) { return place.node->is_run(); });
}

// Without empty places, and with runs that touch joined.
std::vector<Place> joined(const std::vector<Place>& places) {
  std::vector<Place> out;
  out.reserve(places.size());
  for (const Place& place : places) {
    if (!place.node) continue;
    if (!out.empty() && place.node->is_run() && out.back().node->is_run() &&
        out.back().displacement + out.back().size() == place.displacement) {
      out.back().node = run(out.back().size() + place.size()).node;
    } else {
      out.push_back(place);
    }
  }
  return out;
}

// The distance between neighbours when it is the same everywhere and all places are alike.
bool evenly_spaced(const std::vector<Place>& places) {
  const Count stride = places[1].displacement - places[0].displacement;
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].displacement - places[i - 1].displacement != stride) return false;
    const bool alike = places[i].node == places[0].node ||
                       (places[i].node->is_run() && places[0].node->is_run() && places[i].size() == places[0].size());
    if (!alike) return false;
  }
  return true;
}

}  // namespace

Place run(Count bytes) {
  if (bytes == 0) return {};
  auto node = std::make_shared<Node>();
  node->size = node->unit = node->stride = bytes;
  node->count = 1;
  return {0, std::move(node)};
}

Place repeat(Count count, Count stride, const Place& item) {
  if (count == 0 || !item.node) return {};
  if (count == 1) return item;
  auto node = std::make_shared<Node>();
  const Node& inner = *item.node;
  node->size = count * inner.size;
  node->count = count;
  node->stride = stride;
  node->unit = inner.size;
  if (inner.is_run()) {
    if (stride == inner.size) return {item.displacement, run(node->size).node};
  } else if (!inner.is_list && stride == inner.count * inner.stride) {
    node->count = count * inner.count;
    node->stride = inner.stride;
    node->unit = inner.unit;
    node->child = inner.child;
  } else {
    node->child = item.node;
  }
  return {item.displacement, std::move(node)};
}

Place list(const std::vector<Place>& places) {
  const std::vector<Place> items = joined(places);
  if (items.empty()) return {};
  if (items.size() == 1) return items[0];
  if (evenly_spaced(items)) {
    return repeat(static_cast<Count>(items.size()), items[1].displacement - items[0].displacement, items[0]);
  }
  auto node = std::make_shared<Node>();
  node->is_list = true;
  const bool runs = all_runs(items);
  const bool uniform = runs && std::ranges::all_of(items, [&](const Place& p) { return p.size() == items[0].size(); });
  if (uniform)
    node->unit = items[0].size();
  else
    node->begins.reserve(items.size() + 1);
  node->displacements.reserve(items.size());
  for (const Place& item : items) {
    node->displacements.push_back(item.displacement);
    if (!uniform) node->begins.push_back(node->size);
    if (!runs) node->children.push_back(item.node);
    node->size += item.size();
  }
  if (!uniform) node->begins.push_back(node->size);
  return {0, std::move(node)};
}

namespace {

template <Direction direction>
inline void copy(std::uintptr_t at, std::byte* packed, std::size_t bytes) {
  if constexpr (direction == Direction::pack)
    std::memcpy(packed, reinterpret_cast<const void*>(at), bytes);
  else
    std::memcpy(reinterpret_cast<void*>(at), packed, bytes);
}

template <Direction direction, std::size_t unit>
void copy_units(std::uintptr_t at, Count stride, Count count, std::byte* packed) {
  for (Count i = 0; i < count; ++i) {
    copy<direction>(at, packed, unit);
    at += static_cast<std::uintptr_t>(stride);
    packed += unit;
  }
}

// `count` whole runs of `unit` bytes. Small sizes are known to the compiler: a move each instead of a call.
template <Direction direction>
void copy_strided(std::uintptr_t at, Count stride, Count unit, Count count, std::byte* packed) {
  switch (unit) {
    case 1:
      return copy_units<direction, 1>(at, stride, count, packed);
    case 2:
      return copy_units<direction, 2>(at, stride, count, packed);
    case 4:
      return copy_units<direction, 4>(at, stride, count, packed);
    case 8:
      return copy_units<direction, 8>(at, stride, count, packed);
    case 12:
      return copy_units<direction, 12>(at, stride, count, packed);
    case 16:
      return copy_units<direction, 16>(at, stride, count, packed);
    case 24:
      return copy_units<direction, 24>(at, stride, count, packed);
    case 32:
      return copy_units<direction, 32>(at, stride, count, packed);
    case 64:
      return copy_units<direction, 64>(at, stride, count, packed);
    default:
      for (Count i = 0; i < count; ++i) {
        copy<direction>(at, packed, static_cast<std::size_t>(unit));
        at += static_cast<std::uintptr_t>(stride);
        packed += unit;
      }
  }
}

template <Direction direction>
void walk(const Node& node, std::uintptr_t base, Count skip, Count bytes, std::byte* packed);

template <Direction direction>
inline void walk_item(const Node* child, std::uintptr_t base, Count skip, Count bytes, std::byte* packed) {
  if (child)
    walk<direction>(*child, base, skip, bytes, packed);
  else
    copy<direction>(base + static_cast<std::uintptr_t>(skip), packed, static_cast<std::size_t>(bytes));
}

template <Direction direction>
void walk_repeat(const Node* child, Count unit, Count stride, std::uintptr_t base, Count skip, Count bytes,
                 std::byte* packed) {
  std::uintptr_t at = base + static_cast<std::uintptr_t>(skip / unit * stride);
  const Count into = skip % unit;
  if (into != 0) {
    const Count part = std::min(bytes, unit - into);
    walk_item<direction>(child, at, into, part, packed);
    packed += part;
    bytes -= part;
    at += static_cast<std::uintptr_t>(stride);
  }
  const Count whole = bytes / unit;
  if (!child) {
    copy_strided<direction>(at, stride, unit, whole, packed);
    packed += whole * unit;
    at += static_cast<std::uintptr_t>(whole * stride);
  } else {
    for (Count i = 0; i < whole; ++i) {
      walk<direction>(*child, at, 0, unit, packed);
      packed += unit;
      at += static_cast<std::uintptr_t>(stride);
    }
  }
  if (const Count rest = bytes % unit) walk_item<direction>(child, at, 0, rest, packed);
}

template <Direction direction>
void walk_list(const Node& node, std::uintptr_t base, Count skip, Count bytes, std::byte* packed) {
  const bool uniform = node.begins.empty();
  std::size_t i = uniform
                      ? static_cast<std::size_t>(skip / node.unit)
                      : static_cast<std::size_t>(std::ranges::upper_bound(node.begins, skip) - node.begins.begin()) - 1;
  Count into = uniform ? skip % node.unit : skip - node.begins[i];
  for (; bytes > 0; ++i) {
    const Count size = uniform ? node.unit : node.begins[i + 1] - node.begins[i];
    const Count part = std::min(bytes, size - into);
    const Node* child = node.children.empty() ? nullptr : node.children[i].get();
    walk_item<direction>(child, base + static_cast<std::uintptr_t>(node.displacements[i]), into, part, packed);
    packed += part;
    bytes -= part;
    into = 0;
  }
}

template <Direction direction>
void walk(const Node& node, std::uintptr_t base, Count skip, Count bytes, std::byte* packed) {
  if (node.is_list)
    walk_list<direction>(node, base, skip, bytes, packed);
  else
    walk_repeat<direction>(node.child.get(), node.unit, node.stride, base, skip, bytes, packed);
}

}  // namespace

template <Direction direction>
void transfer(const Place& place, Count extent, std::uintptr_t base, Count offset, Count bytes, std::byte* packed) {
  if (bytes == 0) return;
  const Node* node = place.node.get();
  base += static_cast<std::uintptr_t>(place.displacement);
  walk_repeat<direction>(node->is_run() ? nullptr : node, node->size, extent, base, offset, bytes, packed);
}

template void transfer<Direction::pack>(const Place&, Count, std::uintptr_t, Count, Count, std::byte*);
template void transfer<Direction::unpack>(const Place&, Count, std::uintptr_t, Count, Count, std::byte*);

}  // namespace hf::mpi::layout
