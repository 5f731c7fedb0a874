// Several agents and their head in one process and one loop, connected by real sockets: how neighbours reach each other when some
// end. What the cores do is tested beside them.
#include "daemon/tree_node.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>

#include "os/clock.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint32_t hello_all = 1000, hello_head = 1001, hello_one = 1002;

class JoinedAgents {
 public:
  struct Member {
    NodeId self{};
    std::unique_ptr<ControlDoor> door;
    std::unique_ptr<ControlVisit> visit;
    std::unique_ptr<TreeNode> tree;
    std::vector<std::pair<int, std::uint32_t>> got;  // from whom, what
    std::vector<int> dead;
    std::optional<TreeNode::EndReason> ended;
  };

  JoinedAgents(int agents, int fan_out) {
    EXPECT_GE(::sodium_init(), 0);
    settings_.agents = agents;
    settings_.tree.fan_out = fan_out;
    for (int i = -1; i < agents; ++i) members_.push_back(std::make_unique<Member>());
    for (int i = -1; i < agents; ++i) make(NodeId(i));
    for (int i = 0; i < agents; ++i) visit_parent(NodeId(i));
    EXPECT_TRUE(run([&] { return linked_ == agents; }));
    for (int i = 0; i < agents; ++i) {  // not before: else both would dial
      of(-1).tree->set_address(NodeId(i), address_of(i));
      of(i).tree->set_address(head_node, address_of(-1));
    }
    for (auto& member : members_) member->tree->on_started();
  }
  Member& of(int node) { return *members_[static_cast<std::size_t>(node + 1)]; }
  // Until it is so, or for two seconds.
  template <class Done>
  bool run(Done done) {
    const Instant limit = os::later(os::now(), 2 * os::second_ns);
    bool good = false;
    std::function<void()> look = [&] {
      good = done();
      if (good || os::now() > limit) return loop_.stop();
      loop_.at(os::later(os::now(), os::millisecond_ns), look);
    };
    loop_.at(os::now(), look);
    loop_.run();
    return good;
  }
  // As the death of its process: its sockets close, and nobody listens there.
  void kill(int node) {
    of(node).tree.reset();
    of(node).visit.reset();
    of(node).door.reset();
  }
  bool alive(int node) { return of(node).tree != nullptr; }
  int agents() const { return settings_.agents; }
  bool all_got(std::pair<int, std::uint32_t> what) {
    for (int i = 0; i < agents(); ++i) {
      if (alive(i) && std::ranges::count(of(i).got, what) != 1) return false;
    }
    return true;
  }
  bool head_got_from_all(std::uint32_t what) {
    for (int i = 0; i < agents(); ++i) {
      if (alive(i) && std::ranges::count(of(-1).got, std::pair(i, what)) != 1) return false;
    }
    return true;
  }
  void all_say(std::uint32_t what) {
    for (int i = 0; i < agents(); ++i) {
      if (alive(i)) of(i).tree->post_up(static_cast<ControlKind>(what), {});
    }
  }

 private:
  void make(NodeId self) {
    Member& m = of(self.value);
    m.self = self;
    m.door = std::make_unique<ControlDoor>(
        loop_, key_, [&m](const Visitor& visitor, ChannelPtr channel) { m.tree->add_link(visitor.node, std::move(channel)); }, [] {});
    EXPECT_TRUE(m.door->open(os::loopback_address()));
    m.tree = std::make_unique<TreeNode>(
        loop_, key_, self, settings_,
        TreeNode::Handlers{[this, &m](NodeId from, ControlKind kind, Bytes payload) { on_message(m, from, kind, payload); },
                           [&m](NodeId agent, std::uint32_t) { m.dead.push_back(agent.value); },
                           [&m](TreeNode::EndReason why) { m.ended = why; },
                           [&m](NodeId wanted) { m.tree->post_up(ControlKind::where, std::as_bytes(std::span(&wanted.value, 1))); }});
  }
  Address address_of(int node) { return of(node).door ? Address{os::loopback_address(), of(node).door->port()} : Address{os::loopback_address(), 1}; }
  void on_message(Member& m, NodeId from, ControlKind kind, Bytes payload) {
    if (kind == ControlKind::where) {
      std::int32_t wanted = 0;
      ASSERT_TRUE(read_struct(payload, wanted));
      AgentAddress answer{wanted, address_of(wanted)};
      return m.tree->post_down(from, ControlKind::address, std::as_bytes(std::span(&answer, 1)));
    }
    if (kind == ControlKind::address) {
      AgentAddress found;
      ASSERT_TRUE(read_struct(payload, found));
      return m.tree->set_address(NodeId(found.node), found.at);
    }
    m.got.emplace_back(from.value, static_cast<std::uint32_t>(kind));
  }
  void visit_parent(NodeId self) {
    Member& m = of(self.value);
    const NodeId parent = m.tree->shape().parent(self);
    m.visit = std::make_unique<ControlVisit>(loop_, key_, self, Purpose::tree, address_of(parent.value),
                                             ControlVisit::Handlers{[this, &m, parent] {
                                                                      m.tree->add_link(parent, m.visit->share());
                                                                      ++linked_;
                                                                    },
                                                                    [](ControlKind, Bytes) {}, [] {}});
  }

  os::EventLoop loop_;
  JobKey key_{};
  TreeSettings settings_;
  std::vector<std::unique_ptr<Member>> members_;
  int linked_ = 0;
};

TEST(TreeNode, MessagesTravelBothWays) {
  JoinedAgents job(6, 2);
  job.of(-1).tree->post_all(static_cast<ControlKind>(hello_all), {});
  job.of(-1).tree->post_down(NodeId(5), static_cast<ControlKind>(hello_one), {});
  job.all_say(hello_head);
  EXPECT_TRUE(job.run([&] { return job.all_got({-1, hello_all}) && job.head_got_from_all(hello_head); }));
  EXPECT_TRUE(job.run([&] { return std::ranges::count(job.of(5).got, std::pair(-1, hello_one)) == 1; }));
}

// Fan-out 2. head: 0 1; 0: 2 3; 1: 4 5; 2: 6 7. The head asks nobody for addresses, the others ask it.
TEST(TreeNode, TheTreeClosesAroundTheDead) {
  JoinedAgents job(8, 2);
  job.all_say(hello_head);
  job.kill(0);
  job.of(-1).tree->post_all(static_cast<ControlKind>(hello_all), {});
  EXPECT_TRUE(job.run([&] { return job.all_got({-1, hello_all}) && job.head_got_from_all(hello_head); }));
  EXPECT_EQ(job.of(-1).dead, std::vector{0});
  job.kill(2);  // which had its place
  job.kill(6);  // its child: nobody else sees its connection end
  job.all_say(hello_one);
  EXPECT_TRUE(job.run([&] { return job.of(-1).dead.size() == 3 && job.head_got_from_all(hello_one); }));
  for (int i : {1, 3, 4, 5, 7}) EXPECT_FALSE(job.of(i).ended) << i;
}

TEST(TreeNode, WhoeverLosesTheHeadEnds) {
  JoinedAgents job(4, 2);
  job.kill(-1);
  EXPECT_TRUE(job.run([&] { return job.of(0).ended && job.of(1).ended; }));
  EXPECT_EQ(job.of(0).ended, TreeNode::EndReason::head_gone);
}

TEST(TreeNode, AtTheEndAnAgentEndsWithItsParent) {
  JoinedAgents job(4, 2);
  for (int i = -1; i < 4; ++i) job.of(i).tree->on_ending();
  job.kill(0);
  EXPECT_TRUE(job.run([&] { return job.of(2).ended && job.of(3).ended; }));
  EXPECT_TRUE(job.of(-1).dead.empty()) << "who leaves is not dead";
  EXPECT_FALSE(job.of(1).ended);
}

// Frames of no agent of this job, from one that has the key.
TEST(TreeNode, AMalformedFrameEndsItsConnection) {
  JoinedAgents job(2, 2);
  job.of(0).visit->channel().send_bytes(ControlKind::tree, bytes_of("no frame of the tree"));
  EXPECT_TRUE(job.run([&] { return job.of(-1).dead == std::vector{0}; }));
}

}  // namespace
}  // namespace hf::daemon
