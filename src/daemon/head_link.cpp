#include "daemon/head_link.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "os/clock.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

constexpr int connect_limit_ms = 5000;  // for each address of the head
constexpr useconds_t connect_pause_us = 100'000;
constexpr std::int64_t look_pause_ns = 50 * os::millisecond_ns;
constexpr int refused_max = 5;  // nobody listens: nobody goes on for the head

}  // namespace

HeadLink::HeadLink(os::EventLoop& loop, const AgentTicket& ticket, Handlers handlers)
    : loop_(loop),
      ticket_(ticket),
      handlers_(std::move(handlers)),
      self_(ticket.node),
      door_(
          loop, ticket.key, [this](const Visitor& visitor, ChannelPtr channel) { on_guest(visitor, std::move(channel)); },
          [this] { handlers_.on_stranger("refused a connection that does not know the job's key"); }) {}

HeadLink::~HeadLink() {
  loop_.cancel(cleaning_);
  loop_.cancel(looking_);
}

// A network that has just come up may have no route for a moment.
Result<> HeadLink::connect() {
  const Instant until = os::later(os::now(), connect_limit_ms * os::millisecond_ns);
  for (;;) {
    Result<> connected = connect_once();
    if (connected || os::now() >= until) return connected;
    ::usleep(connect_pause_us);
  }
}

Result<> HeadLink::connect_once() {
  std::string tried;
  for (std::uint16_t i = 0; i < ticket_.address_count; ++i) {
    const std::uint32_t address = ticket_.addresses[i];
    Result<os::UniqueFd> fd = os::connect_tcp_within(address, ticket_.port, connect_limit_ms);
    if (!fd) {
      tried += fmt::format("{}{}:{}: {}", i > 0 ? "; " : "", os::address_text(address), ticket_.port, fd.error().text);
      continue;
    }
    head_address_ = address;
    address_ = os::local_address(fd->get());
    if (Result<> opened = door_.open(address_); !opened) return opened;
    joining_ = std::make_unique<ControlVisit>(
        loop_, ticket_.key, self_, Purpose::join, std::move(*fd),
        ControlVisit::Handlers{[this] { joining_->channel().send(ControlKind::home, Address{address_, door_.port()}); },
                               [this](ControlKind kind, Bytes payload) { on_joining_frame(kind, payload); }, [this] { lose_head(); }});
    return {};
  }
  return fail(fmt::format("the head is not reached ({})", tried));
}

void HeadLink::on_joining_frame(ControlKind kind, Bytes payload) {
  if (kind != ControlKind::place || tree_) return gone();  // not our head; or lost: it went on without this agent
  on_place(payload);
}

void HeadLink::on_place(Bytes payload) {
  Place place;
  if (!read_struct(payload, place) || self_.value >= place.settings.agents || place.settings.tree.fan_out < 1) return gone();
  epoch_ = place.settings.epoch;
  tree_ = std::make_unique<TreeNode>(
      loop_, ticket_.key, self_, place.settings,
      TreeNode::Handlers{[this](NodeId, ControlKind kind, Bytes body) { on_message(kind, body); }, [this](NodeId agent, std::uint32_t) { handlers_.on_dead(agent); },
                         [this](TreeNode::EndReason reason) { on_tree_ended(reason); },
                         [this](NodeId wanted) { send(ControlKind::where, std::as_bytes(std::span(&wanted.value, 1))); }});
  tree_->set_address(head_node, {head_address_, ticket_.port});
  const NodeId parent = tree_->shape().parent(self_);
  Address parent_at;
  AgentAddress above;
  for (std::uint32_t i = 0; i < place.address_count && read_struct(payload, above); ++i) {
    if (NodeId(above.node) == parent) parent_at = above.at;
    else if (above.at.port != 0) tree_->set_address(NodeId(above.node), above.at);
  }
  for (auto& [kind, body] : std::exchange(unsent_, {})) tree_->post_up(kind, body);
  for (Early& early : std::exchange(early_, {})) {
    if (early.epoch == epoch_) tree_->add_link(early.node, std::move(early.channel));
    else early.channel->shut();
  }
  const bool back = std::exchange(headless_, false);
  link(parent, parent_at);
  if (back) handlers_.on_head_back();
}

// The tree is told the parent's address when it is connected: it would dial too.
void HeadLink::link(NodeId parent, Address at) {
  if (parent == head_node) return tree_->add_link(head_node, joining_->share());
  if (at.port == 0) return on_parent_not_reached(parent);
  parent_ = std::make_unique<ControlVisit>(
      loop_, ticket_.key, self_, Purpose::tree, at,
      ControlVisit::Handlers{[this, parent, at] { on_linked(parent, at); }, [](ControlKind, Bytes) {}, [this, parent] { on_parent_not_reached(parent); }}, epoch_);
}

// In the tree of a later head: it did not come back, or is lost again. The head, which will know, says who is above instead.
void HeadLink::on_parent_not_reached(NodeId parent) {
  if (epoch_ == 0 || !tree_) return lose_head();
  joining_->channel().send_bytes(ControlKind::linked);
  tree_->on_not_reached(parent);
}

void HeadLink::on_linked(NodeId parent, Address at) {
  if (!tree_ || !parent_) return;
  tree_->add_link(parent, parent_->share());
  tree_->set_address(parent, at);
  joining_->channel().send_bytes(ControlKind::linked);
  joining_->channel().flush_blocking();
  joining_->channel().shut();
}

void HeadLink::on_guest(const Visitor& visitor, ChannelPtr channel) {
  if (visitor.purpose == Purpose::events) return handlers_.on_events_guest(visitor.node.value, std::move(channel));
  if (visitor.purpose != Purpose::tree) return channel->shut();
  if (!tree_) return early_.push_back({visitor.node, visitor.epoch, std::move(channel)});
  if (visitor.epoch != epoch_) return channel->shut();  // it has not heard of the new head
  tree_->add_link(visitor.node, std::move(channel));
}

void HeadLink::on_started() {
  started_ = true;
  tree_->on_started();
}

void HeadLink::on_tree_ended(TreeNode::EndReason reason) {
  if (reason != TreeNode::EndReason::head_gone) return gone();
  lose_head();
}

void HeadLink::lose_head() {
  if (ticket_.head_returns_ms == 0 || !started_ || gone_) return gone();
  if (!headless_) {
    headless_until_ = os::later(os::now(), ticket_.head_returns_ms * os::millisecond_ns);
    refused_ = 0;
  }
  if (tree_) {
    tree_->tell_children(ControlKind::head_lost);
    tree_->drop();
    old_trees_.push_back(std::move(tree_));
  }
  for (auto* visit : {&joining_, &parent_}) {
    if (!*visit) continue;
    (*visit)->drop();
    old_visits_.push_back(std::move(*visit));
  }
  if (cleaning_ == 0) {
    cleaning_ = loop_.at(os::now(), [this] {
      cleaning_ = 0;
      old_trees_.clear();
      old_visits_.clear();
    });
  }
  if (looking_ == 0) {
    looking_ = loop_.at(headless_ ? os::later(os::now(), look_pause_ns) : os::now(), [this] {
      looking_ = 0;
      look_for_head();
    });
  }
  if (!std::exchange(headless_, true)) handlers_.on_head_lost();
}

void HeadLink::look_for_head() {
  joining_ = std::make_unique<ControlVisit>(
      loop_, ticket_.key, self_, Purpose::join, Address{head_address_, ticket_.port},
      ControlVisit::Handlers{[this] { joining_->channel().send(ControlKind::home, Address{address_, door_.port()}); },
                             [this](ControlKind kind, Bytes payload) { on_joining_frame(kind, payload); }, [this] { on_head_not_reached(); }});
}

void HeadLink::on_head_not_reached() {
  refused_ = joining_ && joining_->refused() ? refused_ + 1 : 0;
  if (headless_ && (refused_ >= refused_max || os::now() >= headless_until_)) return gone();
  lose_head();
}

void HeadLink::send(ControlKind kind, Bytes body, Bytes tail) {
  if (headless_) return;
  if (tree_) return tree_->post_up(kind, body, tail);
  ByteWriter out(unsent_.emplace_back(kind, std::vector<std::byte>()).second);
  out.put_bytes(body);
  out.put_bytes(tail);
}

void HeadLink::on_message(ControlKind kind, Bytes payload) {
  if (kind != ControlKind::address) return handlers_.on_message(kind, payload);
  if (AgentAddress found; read_struct(payload, found)) tree_->set_address(NodeId(found.node), found.at);
}

void HeadLink::gone() {
  if (!std::exchange(gone_, true)) handlers_.on_gone();
}

}  // namespace hf::daemon
