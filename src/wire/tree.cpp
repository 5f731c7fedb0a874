#include "wire/tree.hpp"

#include <span>

#include "base/check.hpp"

namespace hf::wire {
namespace {

bool is_agent(std::int32_t node, int agents) {
  return node >= 0 && node < agents;
}

template <class Entry>
bool read_entries(ByteReader& reader, std::vector<Entry>& out, int agents) {
  if (reader.left() % sizeof(Entry) != 0) return false;
  out.reserve(reader.left() / sizeof(Entry));
  while (reader.left() > 0) {
    out.push_back(reader.get<Entry>());
    if (!is_agent(out.back().node, agents)) return false;
  }
  return true;
}

// Deaths come in the order of their versions, each within the range: otherwise two agents could apply different ones.
bool read_view(ByteReader& reader, TreeFrame& frame, int agents) {
  frame.range = reader.get<ViewRange>();
  if (!reader.ok() || frame.range.from > frame.range.to) return false;
  if (!read_entries(reader, frame.deaths, agents)) return false;
  std::uint32_t last = frame.range.from + 1;
  for (const DeathEntry& death : frame.deaths) {
    if (death.version < last || death.version > frame.range.to) return false;
    last = death.version;
  }
  return true;
}

bool read_items(ByteReader& reader, TreeFrame& frame, int agents) {
  while (reader.left() > 0) {
    ItemView& item = frame.items.emplace_back();
    item.head = reader.get<TreeItem>();
    if (!reader.ok() || item.head.kind < ItemKind::up || item.head.kind > ItemKind::all_stable) return false;
    bool to_one = item.head.kind <= ItemKind::down_taken;
    bool message = item.head.kind == ItemKind::up || item.head.kind == ItemKind::down || item.head.kind == ItemKind::all;
    if (to_one && !is_agent(item.head.node, agents)) return false;
    if (item.head.notes > 0 && item.head.kind != ItemKind::all) return false;
    if (item.head.bytes > 0 && !message) return false;
    if (item.head.notes * sizeof(OrderNote) > reader.left()) return false;
    for (int i = 0; i < item.head.notes; ++i) item.notes.push_back(reader.get<OrderNote>());
    item.payload = reader.get_bytes(item.head.bytes);
    if (!reader.ok()) return false;
  }
  return true;
}

}  // namespace

std::optional<TreeFrame> decode_tree_frame(Bytes bytes, int agents) {
  TreeFrame frame;
  ByteReader reader(bytes);
  frame.header = reader.get<TreeHeader>();
  if (!reader.ok() || frame.header.bytes != reader.left()) return std::nullopt;
  if (frame.header.node != head_node.value && !is_agent(frame.header.node, agents)) return std::nullopt;
  bool good = false;
  switch (frame.header.kind) {
    case TreeKind::heartbeat: good = read_entries(reader, frame.suspects, agents); break;
    case TreeKind::view: good = read_view(reader, frame, agents); break;
    case TreeKind::ask:
    case TreeKind::fenced: good = reader.left() == 0; break;
    case TreeKind::items: good = read_items(reader, frame, agents); break;
  }
  if (!good) return std::nullopt;
  return frame;
}

void finish_tree_frame(std::vector<std::byte>& frame, TreeKind kind, NodeId node, ViewVersion version) {
  HF_CHECK(frame.size() >= sizeof(TreeHeader));
  TreeHeader header;
  header.kind = kind;
  header.node = node.value;
  header.version = version.value;
  header.bytes = static_cast<std::uint32_t>(frame.size() - sizeof(TreeHeader));
  std::memcpy(frame.data(), &header, sizeof header);
}

void append_item(std::vector<std::byte>& frame, const TreeItem& item, std::span<const OrderNote> notes, Bytes payload) {
  HF_CHECK(notes.size() <= order_notes_max);
  TreeItem whole = item;
  whole.notes = static_cast<std::uint16_t>(notes.size());
  whole.bytes = static_cast<std::uint32_t>(payload.size());
  ByteWriter writer(frame);
  writer.put(whole);
  for (const OrderNote& note : notes) writer.put(note);
  writer.put_bytes(payload);
}

}  // namespace hf::wire
