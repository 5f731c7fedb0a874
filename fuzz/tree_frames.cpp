// Frames of a neighbour in the agents' tree: whatever it says, an agent and the head go on; and what they say is well formed.
#include <array>
#include <optional>

#include "base/check.hpp"
#include "core/membership/membership.hpp"
#include "core/tree/tree.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr int agents = 6, fan_out = 2;  // head: 0 1; 0: 2 3; 1: 4 5
constexpr std::size_t length_bytes = 2;

struct End {
  explicit End(NodeId self) : membership({}, agents, fan_out, self, Instant{}), tree(options(), self, membership.shape()) {
    membership.on_started(Instant{});
  }
  static core::tree::TreeOptions options() {
    core::tree::TreeOptions o;
    o.fan_out = fan_out;
    return o;
  }
  void take(Instant now, const wire::TreeFrame& frame) {
    using core::membership::Membership;
    if (membership.on_frame(now, NodeId(frame.header.node), frame) == Membership::Verdict::items) {
      tree.on_items(now, NodeId(frame.header.node), frame.items);
    }
    drain(now);
    membership.on_timeout(now);
    if (!membership.ended()) tree.on_timeout(now);
    drain(now);
  }
  void drain(Instant now) {
    for (core::membership::Event event; membership.poll_event(event);) {
      if (event.kind == core::membership::Event::view_changed) tree.on_view(now, membership.version());
    }
    core::tree::Transmit transmit;
    while (membership.poll_transmit(transmit)) HF_CHECK(wire::decode_tree_frame(transmit.frame, agents));
    while (tree.poll_transmit(now, transmit)) HF_CHECK(wire::decode_tree_frame(transmit.frame, agents));
    for (core::tree::Delivery delivery; tree.poll_delivery(delivery);) touch(delivery.payload);
  }
  core::membership::Membership membership;
  core::tree::Tree tree;
};

NodeId any_node(Random& random) {
  return NodeId(static_cast<std::int32_t>(random() % (agents + 1)) - 1);
}

Octets frame(Random& random) {
  Octets out(sizeof(wire::TreeHeader));
  ByteWriter writer(out);
  auto kind = static_cast<wire::TreeKind>(1 + random() % 5);
  auto small = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random() % below); };
  if (kind == wire::TreeKind::heartbeat && random() % 2) writer.put(wire::SuspectEntry{static_cast<std::int32_t>(small(agents)), small(4)});
  if (kind == wire::TreeKind::view) {
    std::uint32_t from = small(3), to = from + small(3);
    writer.put(wire::ViewRange{from, to});
    if (to > from) writer.put(wire::DeathEntry{static_cast<std::int32_t>(small(agents)), from + 1});
    if (to > from) writer.put(wire::DeathEntry{static_cast<std::int32_t>(small(agents)), to});
  }
  for (std::uint32_t n = kind == wire::TreeKind::items ? small(4) : 0; n > 0; --n) {
    auto item = static_cast<wire::ItemKind>(1 + random() % 7);
    wire::TreeItem head{.kind = item, .node = static_cast<std::int32_t>(small(agents)), .sequence = small(5), .other = small(4), .version = small(3)};
    bool message = item == wire::ItemKind::up || item == wire::ItemKind::down || item == wire::ItemKind::all;
    wire::OrderNote note{.node = static_cast<std::int32_t>(small(agents)), .sequence = small(3)};
    bool noted = item == wire::ItemKind::all && random() % 2;
    wire::append_item(out, head, std::span(&note, noted ? 1 : 0), message ? bytes_of("payload") : Bytes{});
  }
  wire::finish_tree_frame(out, kind, any_node(random), ViewVersion(small(4)));
  return out;
}

}  // namespace

// Some frames, each after its length.
Octets sample(Random& random) {
  Octets input;
  ByteWriter writer(input);
  for (std::uint64_t n = 1 + random() % 12; n > 0; --n) {
    Octets one = frame(random);
    writer.put(static_cast<std::uint16_t>(one.size()));
    writer.put_bytes(one);
  }
  return input;
}

void take(Bytes input) {
  End head(head_node), agent(NodeId(0));
  HF_CHECK(head.tree.post_all(Instant{}, bytes_of("x")) && head.tree.post_down(Instant{}, NodeId(2), bytes_of("y")));
  HF_CHECK(agent.tree.post_up(Instant{}, bytes_of("z")));
  Instant now{};
  for (ByteReader reader(input); reader.left() >= length_bytes;) {
    std::size_t bytes = reader.get<std::uint16_t>();
    bytes = std::min(bytes, reader.left());
    now = Instant(now.value + 30'000'000);
    auto decoded = wire::decode_tree_frame(reader.get_bytes(bytes), agents);
    if (!decoded) continue;
    head.take(now, *decoded);
    agent.take(now, *decoded);
  }
}

}  // namespace hf::fuzz
