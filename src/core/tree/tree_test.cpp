#include "core/tree/tree.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::core::tree {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr NodeId zero{0}, one{1}, two{2};

Instant at(std::int64_t milliseconds) {
  return Instant(milliseconds * ms);
}

// One tree core, and what it says.
struct End {
  End(NodeId node, int agents, int fan_out, TreeOptions o = {}) : self(node), shape(agents, fan_out), tree(o, node, shape) {}
  std::vector<std::pair<NodeId, wire::TreeFrame>> said(Instant now) {
    std::vector<std::pair<NodeId, wire::TreeFrame>> out;
    for (Transmit t; tree.poll_transmit(now, t);) {
      frames.push_back(std::move(t.frame));
      auto frame = wire::decode_tree_frame(frames.back(), shape.agents());
      EXPECT_TRUE(frame);
      if (frame) out.emplace_back(t.to, std::move(*frame));
    }
    return out;
  }
  std::vector<std::string> got() {
    std::vector<std::string> out;
    for (Delivery d; tree.poll_delivery(d);) out.emplace_back(text_of(d.payload));
    return out;
  }
  void hear(Instant now, NodeId from, const wire::TreeItem& item, std::string_view payload = {}) {
    wire::ItemView view{item, {}, bytes_of(payload)};
    tree.on_items(now, from, std::span(&view, 1));
  }
  NodeId self;
  Shape shape;
  Tree tree;
  std::deque<std::vector<std::byte>> frames;
};

using Texts = std::vector<std::string>;
using wire::ItemKind;

// All that one has said, to the other.
void carry(Instant now, End& from, End& to) {
  for (auto& [node, frame] : from.said(now)) {
    if (node == to.self) to.tree.on_items(now, from.self, frame.items);
  }
}

TEST(Tree, EachMessageIsDeliveredOnceAndInOrder) {
  End head(head_node, 2, 2), agent(zero, 2, 2);
  for (const char* text : {"a", "b"}) ASSERT_TRUE(agent.tree.post_up(at(0), bytes_of(text)));
  ASSERT_TRUE(head.tree.post_down(at(0), zero, bytes_of("x")));
  ASSERT_TRUE(head.tree.post_all(at(0), bytes_of("y")));
  ASSERT_TRUE(head.tree.post_down(at(0), zero, bytes_of("z")));
  carry(at(0), agent, head), carry(at(0), head, agent);
  carry(at(10), agent, head), carry(at(10), head, agent);
  EXPECT_EQ(head.got(), (Texts{"a", "b"}));
  EXPECT_EQ(agent.got(), (Texts{"x", "y", "z"}));
  // Everything again, since no acknowledgement came: nothing is delivered twice.
  head.tree.on_timeout(at(1100)), agent.tree.on_timeout(at(1100));
  carry(at(1100), agent, head), carry(at(1100), head, agent);
  EXPECT_TRUE(head.got().empty());
  EXPECT_TRUE(agent.got().empty());
}

TEST(Tree, AcknowledgedMessagesAreForgotten) {
  End head(head_node, 1, 2), agent(zero, 1, 2);
  ASSERT_TRUE(agent.tree.post_up(at(0), bytes_of("a")));
  ASSERT_TRUE(head.tree.post_down(at(0), zero, bytes_of("b")));
  ASSERT_TRUE(head.tree.post_all(at(0), bytes_of("c")));
  for (std::int64_t t = 0; t <= 300; t += 5) {
    head.tree.on_timeout(at(t)), agent.tree.on_timeout(at(t));
    carry(at(t), agent, head), carry(at(t), head, agent);
  }
  EXPECT_TRUE(head.tree.all_taken());
  EXPECT_TRUE(agent.tree.all_taken());
  EXPECT_FALSE(head.tree.next_deadline());
  EXPECT_FALSE(agent.tree.next_deadline());
}

TEST(Tree, AFullWindowTakesNothingUntilAcknowledgementsCome) {
  TreeOptions small;
  small.window_messages = 2;
  End agent(zero, 1, 2, small);
  EXPECT_TRUE(agent.tree.post_up(at(0), bytes_of("a")));
  EXPECT_TRUE(agent.tree.post_up(at(0), bytes_of("b")));
  EXPECT_FALSE(agent.tree.post_up(at(0), bytes_of("c")));
  agent.hear(at(1), head_node, {.kind = ItemKind::up_taken, .node = 0, .sequence = 1});
  EXPECT_TRUE(agent.tree.post_up(at(1), bytes_of("c")));

  TreeOptions narrow;
  narrow.window_bytes = 10;
  End other(zero, 1, 2, narrow);
  EXPECT_TRUE(other.tree.post_up(at(0), bytes_of("one larger than the window, alone")));
  EXPECT_FALSE(other.tree.post_up(at(0), bytes_of("x")));
}

TEST(Tree, AnAcknowledgementOfWhatWasNeverSentChangesNothing) {
  End agent(zero, 1, 2);
  ASSERT_TRUE(agent.tree.post_up(at(0), bytes_of("a")));
  agent.hear(at(1), head_node, {.kind = ItemKind::up_taken, .node = 0, .sequence = 99});
  EXPECT_FALSE(agent.tree.all_taken());
  agent.hear(at(1), head_node, {.kind = ItemKind::all_stable, .sequence = 99});
  agent.hear(at(1), head_node, {.kind = ItemKind::all, .sequence = 0, .other = 99}, "first");
  EXPECT_EQ(agent.got(), (Texts{"first"}));
}

TEST(Tree, MessagesOutOfOrderWaitAndThoseTooFarAheadAreSentAgain) {
  TreeOptions small;
  small.window_messages = 4;
  End agent(zero, 1, 2, small);
  agent.hear(at(0), head_node, {.kind = ItemKind::down, .node = 0, .sequence = 4}, "too far");
  agent.hear(at(0), head_node, {.kind = ItemKind::down, .node = 0, .sequence = 1}, "b");
  EXPECT_TRUE(agent.got().empty());
  agent.hear(at(0), head_node, {.kind = ItemKind::down, .node = 0, .sequence = 0}, "a");
  EXPECT_EQ(agent.got(), (Texts{"a", "b"}));
}

// A living agent may pass on what a dead one said before.
TEST(Tree, TheHeadHearsNothingOfTheDead) {
  End head(head_node, 6, 2);
  head.shape.on_death(two);
  head.tree.on_view(at(0), ViewVersion(1));
  head.hear(at(1), zero, {.kind = ItemKind::up, .node = 2, .sequence = 0}, "of the dead");
  head.hear(at(1), zero, {.kind = ItemKind::up, .node = 3, .sequence = 0}, "of the living");
  EXPECT_EQ(head.got(), (Texts{"of the living"}));
}

TEST(Tree, WhatIsForTheDeadIsForgotten) {
  End head(head_node, 6, 2);
  ASSERT_TRUE(head.tree.post_down(at(0), two, bytes_of("a")));
  ASSERT_FALSE(head.tree.all_taken());
  head.shape.on_death(two);
  head.tree.on_view(at(0), ViewVersion(1));
  EXPECT_TRUE(head.tree.all_taken());
}

TEST(Tree, AnAgentPassesOnWhatIsForThoseBelowItAndNothingElse) {
  End agent(zero, 6, 2);  // head: 0 1; 0: 2 3; 1: 4 5
  agent.hear(at(0), head_node, {.kind = ItemKind::down, .node = 3, .sequence = 0}, "for 3");
  agent.hear(at(0), head_node, {.kind = ItemKind::down, .node = 4, .sequence = 0}, "not below");
  agent.hear(at(0), two, {.kind = ItemKind::up, .node = 2, .sequence = 0}, "of 2");
  auto said = agent.said(at(0));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].first, head_node);
  EXPECT_EQ(text_of(said[0].second.items[0].payload), "of 2");
  EXPECT_EQ(said[1].first, NodeId(3));
  EXPECT_EQ(text_of(said[1].second.items[0].payload), "for 3");
}

// An agent that stands under another parent than it said is not counted: nobody has asked it in the new tree.
TEST(Tree, WhatWasTakenInAnOlderTreeDoesNotMakeAMessageStable) {
  End head(head_node, 6, 2);
  ASSERT_TRUE(head.tree.post_all(at(0), bytes_of("a")));
  for (NodeId child : {zero, one}) head.hear(at(1), child, {.kind = ItemKind::all_taken, .sequence = 1, .other = 1, .version = 0});
  EXPECT_TRUE(head.tree.all_taken());
  ASSERT_TRUE(head.tree.post_all(at(2), bytes_of("b")));
  head.shape.on_death(two);
  head.tree.on_view(at(3), ViewVersion(1));
  for (NodeId child : {zero, one}) head.hear(at(4), child, {.kind = ItemKind::all_taken, .sequence = 2, .other = 2, .version = 0});
  EXPECT_FALSE(head.tree.all_taken());
  for (NodeId child : {zero, one}) head.hear(at(5), child, {.kind = ItemKind::all_taken, .sequence = 2, .other = 2, .version = 1});
  EXPECT_TRUE(head.tree.all_taken());
}

TEST(Tree, FramesToANeighbourAreApartUnlessTheyAreFull) {
  TreeOptions options;
  options.frame_bytes = 300;
  End agent(zero, 1, 2, options);
  ASSERT_TRUE(agent.tree.post_up(at(0), bytes_of("a")));
  EXPECT_EQ(agent.said(at(0)).size(), 1u) << "the first goes at once";
  ASSERT_TRUE(agent.tree.post_up(at(1), bytes_of("b")));
  ASSERT_TRUE(agent.tree.post_up(at(1), bytes_of("c")));
  EXPECT_TRUE(agent.said(at(1)).empty());
  EXPECT_EQ(agent.tree.next_deadline(), at(2));
  auto said = agent.said(at(2));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].second.items.size(), 2u);
  std::string large(200, 'x');
  ASSERT_TRUE(agent.tree.post_up(at(2), bytes_of(large)));
  ASSERT_TRUE(agent.tree.post_up(at(2), bytes_of(large)));
  EXPECT_EQ(agent.said(at(2)).size(), 1u) << "the full one";
}

}  // namespace
}  // namespace hf::core::tree
