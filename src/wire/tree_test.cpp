#include "wire/tree.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hf::wire {
namespace {

constexpr int agents = 10;
using Octets = std::vector<std::byte>;

Octets frame_of(TreeKind kind, const std::function<void(ByteWriter&)>& body) {
  Octets frame(sizeof(TreeHeader));
  ByteWriter writer(frame);
  body(writer);
  finish_tree_frame(frame, kind, NodeId(3), ViewVersion(7));
  return frame;
}

// docs/membership.md and docs/tree.md have these examples.
TEST(Tree, TheBytesAreThoseOfThePages) {
  Octets view = frame_of(TreeKind::view, [](ByteWriter& w) {
    w.put(ViewRange{5, 7});
    w.put(DeathEntry{4, 7});
  });
  const unsigned char expected_view[] = {2, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 16, 0, 0, 0,   // header
                                         5, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0};  // range, a death
  ASSERT_EQ(view.size(), sizeof(expected_view));
  EXPECT_EQ(std::memcmp(view.data(), expected_view, sizeof(expected_view)), 0);

  Octets items(sizeof(TreeHeader));
  OrderNote note{.node = 2, .sequence = 1};
  append_item(items, {.kind = ItemKind::all, .sequence = 9, .other = 8}, std::span(&note, 1), bytes_of("hi"));
  finish_tree_frame(items, TreeKind::items, head_node, ViewVersion(7));
  const unsigned char expected_items[] = {5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0, 50, 0, 0, 0,  // header: of the head
                                          5, 0, 1, 0, 0, 0, 0, 0,                                       // kind, notes, node
                                          9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,               // sequence, other
                                          0, 0, 0, 0, 2, 0, 0, 0,                                       // version, bytes
                                          2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,               // a note
                                          'h', 'i'};
  ASSERT_EQ(items.size(), sizeof(expected_items));
  EXPECT_EQ(std::memcmp(items.data(), expected_items, sizeof(expected_items)), 0);
}

TEST(Tree, FramesAreReadAsTheyWereWritten) {
  auto beat = decode_tree_frame(frame_of(TreeKind::heartbeat, [](ByteWriter& w) { w.put(SuspectEntry{9, 6}); }), agents);
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->header.node, 3);
  EXPECT_EQ(beat->header.version, 7u);
  ASSERT_EQ(beat->suspects.size(), 1u);
  EXPECT_EQ(beat->suspects[0].node, 9);

  Octets frame(sizeof(TreeHeader));
  OrderNote notes[] = {{.node = 2, .sequence = 1}, {.node = 4, .sequence = 2}};
  append_item(frame, {.kind = ItemKind::up, .node = 9, .sequence = 5}, {}, bytes_of("payload"));
  append_item(frame, {.kind = ItemKind::all, .sequence = 6, .other = 2}, notes, bytes_of("to all"));
  append_item(frame, {.kind = ItemKind::all_stable, .sequence = 6});
  finish_tree_frame(frame, TreeKind::items, NodeId(1), ViewVersion(0));
  auto items = decode_tree_frame(frame, agents);
  ASSERT_TRUE(items);
  ASSERT_EQ(items->items.size(), 3u);
  EXPECT_EQ(text_of(items->items[0].payload), "payload");
  EXPECT_EQ(items->items[1].notes.size(), 2u);
  EXPECT_EQ(items->items[1].notes[1].node, 4);
  EXPECT_EQ(text_of(items->items[1].payload), "to all");
  EXPECT_EQ(items->items[2].head.sequence, 6u);
}

TEST(Tree, WhatNoAgentSaysIsRefused) {
  auto refused = [](TreeKind kind, const std::function<void(ByteWriter&)>& body) {
    return !decode_tree_frame(frame_of(kind, body), agents).has_value();
  };
  EXPECT_FALSE(refused(TreeKind::ask, [](ByteWriter&) {}));
  EXPECT_TRUE(refused(TreeKind::ask, [](ByteWriter& w) { w.put(0); })) << "a body where there is none";
  EXPECT_TRUE(refused(static_cast<TreeKind>(0), [](ByteWriter&) {}));
  EXPECT_TRUE(refused(static_cast<TreeKind>(6), [](ByteWriter&) {}));
  EXPECT_TRUE(refused(TreeKind::heartbeat, [](ByteWriter& w) { w.put(SuspectEntry{10, 0}); })) << "not an agent of the job";
  EXPECT_TRUE(refused(TreeKind::heartbeat, [](ByteWriter& w) { w.put(SuspectEntry{-1, 0}); })) << "the head is never suspected";
  EXPECT_TRUE(refused(TreeKind::heartbeat, [](ByteWriter& w) { w.put('x'); })) << "a piece of an entry";
  EXPECT_TRUE(refused(TreeKind::view, [](ByteWriter&) {})) << "no range";
  EXPECT_TRUE(refused(TreeKind::view, [](ByteWriter& w) { w.put(ViewRange{2, 1}); }));
  EXPECT_TRUE(refused(TreeKind::view, [](ByteWriter& w) { w.put(ViewRange{2, 4}), w.put(DeathEntry{1, 2}); })) << "before the range";
  EXPECT_TRUE(refused(TreeKind::view, [](ByteWriter& w) { w.put(ViewRange{2, 4}), w.put(DeathEntry{1, 5}); })) << "behind it";
  EXPECT_TRUE(refused(TreeKind::view, [](ByteWriter& w) {
    w.put(ViewRange{2, 4});
    w.put(DeathEntry{1, 4});
    w.put(DeathEntry{2, 3});
  })) << "not in order";
  EXPECT_TRUE(refused(TreeKind::items, [](ByteWriter& w) { w.put(TreeItem{}); })) << "kind 0";
  EXPECT_TRUE(refused(TreeKind::items, [](ByteWriter& w) { w.put(TreeItem{.kind = ItemKind::down, .node = 10}); }));
  EXPECT_TRUE(refused(TreeKind::items, [](ByteWriter& w) { w.put(TreeItem{.kind = ItemKind::up, .bytes = 1}); })) << "no payload there";
  EXPECT_TRUE(refused(TreeKind::items, [](ByteWriter& w) { w.put(TreeItem{.kind = ItemKind::all, .notes = 1}); })) << "no note there";
  EXPECT_TRUE(refused(TreeKind::items, [](ByteWriter& w) {
    w.put(TreeItem{.kind = ItemKind::up_taken, .bytes = 1});
    w.put('x');
  })) << "a payload where there is none";

  Octets cut = frame_of(TreeKind::view, [](ByteWriter& w) { w.put(ViewRange{0, 0}); });
  cut.pop_back();
  EXPECT_FALSE(decode_tree_frame(cut, agents)) << "shorter than it says";
  EXPECT_FALSE(decode_tree_frame(Bytes(cut).first(10), agents)) << "a piece of a header";
}

}  // namespace
}  // namespace hf::wire
