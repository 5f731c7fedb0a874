// What agents and head say to each other along the tree (docs/membership.md, docs/tree.md): frames over the connection of
// two of them. A frame is a TreeHeader and `bytes` of body. Pure; the structs are plain copies of memory.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace hf::wire {

enum class TreeKind : std::uint8_t {
  heartbeat = 1,  // SuspectEntry each: whom the sender, or an agent below it, finds dead. Empty from a parent
  view,           // ViewRange, then DeathEntry each: what the head decided between two versions
  ask,            // empty: the sender's `version` is old, it wants the view
  fenced,         // empty: the receiver has been declared dead; its frames are refused
  items,          // TreeItem each, followed by its notes and its payload: messages and their acknowledgements
};

struct TreeHeader {
  TreeKind kind{};
  std::uint8_t reserved[3] = {};
  std::int32_t node = 0;       // the sender; -1: the head
  std::uint32_t version = 0;   // of the sender's view
  std::uint32_t bytes = 0;     // of the body
};
static_assert(sizeof(TreeHeader) == 16);

struct SuspectEntry {
  std::int32_t node = 0;
  std::uint32_t version = 0;  // the view of the agent that found it: the head listens only to its own
  std::uint32_t silent_ms = 0;  // for how long nothing was heard of it; 0: its connection was closed
};
struct ViewRange {
  std::uint32_t from = 0;  // the deaths decided after this version ...
  std::uint32_t to = 0;    // ... up to this one follow
};
struct DeathEntry {
  std::int32_t node = 0;
  std::uint32_t version = 0;  // that brought it
};

enum class ItemKind : std::uint8_t {
  up = 1,      // agent `node` -> head: message `sequence`
  up_taken,    // head -> agent `node`: it has all before `sequence`
  down,        // head -> agent `node`: message `sequence`, not to be delivered before all those to all before `other`
  down_taken,  // agent `node` -> head: it has all before `sequence`
  all,         // parent -> child: message `sequence` to all; all agents have those before `other`
  all_taken,   // child -> parent: it has those before `sequence`, all below it those before `other`, in the tree of `version`
  all_stable,  // parent -> child: all agents have those before `sequence`
};

struct TreeItem {
  ItemKind kind{};
  std::uint8_t reserved = 0;
  std::uint16_t notes = 0;     // of `all`: how many OrderNote follow
  std::int32_t node = 0;
  std::uint64_t sequence = 0;
  std::uint64_t other = 0;
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;     // of payload
};
static_assert(sizeof(TreeItem) == 32);

// A message to all is not delivered at `node` before its own messages (`down`) before `sequence`. Whoever is not noted has
// them already.
struct OrderNote {
  std::int32_t node = 0;
  std::uint32_t reserved = 0;
  std::uint64_t sequence = 0;
};
static_assert(sizeof(OrderNote) == 16);
inline constexpr std::size_t order_notes_max = UINT16_MAX;

// A decoded item: views into the frame.
struct ItemView {
  TreeItem head;
  std::vector<OrderNote> notes;
  Bytes payload;
};

struct TreeFrame {
  TreeHeader header;
  std::vector<SuspectEntry> suspects;
  ViewRange range;
  std::vector<DeathEntry> deaths;
  std::vector<ItemView> items;
};

// Nothing: not a frame of an agent of this job. Payloads point into `frame`.
std::optional<TreeFrame> decode_tree_frame(Bytes frame, int agents);

// `node`, `version` and `kind` as given, `bytes` of what is behind the header. The buffer begins with room for the header.
void finish_tree_frame(std::vector<std::byte>& frame, TreeKind kind, NodeId node, ViewVersion version);
void append_item(std::vector<std::byte>& frame, const TreeItem& item, std::span<const OrderNote> notes = {}, Bytes payload = {});

}  // namespace hf::wire
