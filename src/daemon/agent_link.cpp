#include "daemon/agent_link.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

// An agent looks for another head for so long, and a head waits so long for agents: longer than it takes them to see that the one
// before is gone, and to find it.
constexpr std::uint32_t head_returns_ms = 30'000;
constexpr std::int64_t head_waits_ms = 3000;

}  // namespace

AgentLinks::AgentLinks(os::EventLoop& loop, std::vector<std::string> hosts, const LaunchOptions& options, const TreeSettings& settings,
                       HeadSeat seat, Handlers handlers)
    : loop_(loop),
      hosts_(std::move(hosts)),
      options_(options),
      settings_(settings),
      handlers_(std::move(handlers)),
      launcher_(make_launcher(loop, options, handlers_.on_line)),
      seat_(std::move(seat)),
      door_(
          loop, seat_.key, [this](const Visitor& visitor, ChannelPtr channel) { on_guest(visitor, std::move(channel)); },
          [this] { handlers_.on_stranger("a connection that does not know the job's key was refused"); }),
      agents_(hosts_.size()) {
  settings_.epoch = seat_.epoch;
}

Result<> AgentLinks::start() {
  door_.open(std::move(seat_.listener));
  AgentTicket ticket;
  ticket.build = own_build();
  ticket.port = door_.port();
  ticket.key = seat_.key;
  if (seat_.facts) ticket.head_returns_ms = head_returns_ms;
  for (std::size_t node = 0; node < hosts_.size(); ++node) {
    auto addresses = addresses_for(hosts_[node]);
    if (!addresses) return std::unexpected(addresses.error());
    ticket.node = static_cast<std::int32_t>(node);
    ticket.address_count = static_cast<std::uint16_t>(std::min(addresses->size(), ticket.addresses.size()));
    std::copy_n(addresses->begin(), ticket.address_count, ticket.addresses.begin());
    if (Result<> started = launcher_->start(ticket.node, hosts_[node], ticket); !started) return started;
  }
  return launcher_->started_all();
}

void AgentLinks::resume(const std::vector<bool>& lost) {
  for (std::size_t node = 0; node < agents_.size(); ++node) agents_[node].lost_before = lost[node];
  door_.open(std::move(seat_.listener));
  waiting_ = loop_.at(os::later(os::now(), head_waits_ms * os::millisecond_ns), [this] {
    waiting_ = 0;
    build_tree_of_those_here();
  });
}

// Where an agent on that host may find this machine, the most likely first.
Result<std::vector<std::uint32_t>> AgentLinks::addresses_for(const std::string& host) const {
  if (!options_.head_address.empty()) return std::vector{*os::resolve(options_.head_address)};
  const std::uint32_t loopback = os::loopback_address();
  if (seat_.loopback_only) return std::vector{loopback};
  std::vector<std::uint32_t> out;
  auto add = [&](std::uint32_t address) {
    if (std::ranges::find(out, address) == out.end()) out.push_back(address);
  };
  const std::uint32_t first_byte_mask = htonl(0xff000000);
  auto towards = os::address_towards(host.substr(host.find('@') + 1));
  // An agent on this machine takes its own address from this connection too: others must reach it there.
  if (towards && (*towards & first_byte_mask) != (loopback & first_byte_mask)) add(*towards);
  for (std::uint32_t address : os::interface_addresses()) add(address);
  if (out.empty()) add(loopback);
  return out;
}

void AgentLinks::on_guest(const Visitor& visitor, ChannelPtr channel) {
  const bool known = visitor.node.value >= 0 && visitor.node.value < std::ssize(agents_);
  const bool of_tree = known && visitor.purpose == Purpose::tree && visitor.epoch == seat_.epoch;
  if (of_tree && tree_) return tree_->add_link(visitor.node, std::move(channel));
  if (!known || visitor.purpose != Purpose::join) return channel->shut();
  const int node = visitor.node.value;
  AgentEnd& agent = agents_[static_cast<std::size_t>(node)];
  if (agent.joined || agent.lost_before || tree_) {  // its connection had ended, or it comes too late: its ranks are elsewhere
    channel->send_bytes(ControlKind::lost);
    channel->flush_blocking();
    return channel->shut();
  }
  agent.joined = true;
  agent.clock_offset_ns = visitor.clock_offset_ns;
  agent.joining = std::move(channel);
  agent.joining->set_handlers([this, node](ControlKind kind, Bytes payload) { on_joining_frame(node, kind, payload); },
                              [this, node] { on_joining_closed(node); });
}

void AgentLinks::on_joining_frame(int node, ControlKind kind, Bytes payload) {
  AgentEnd& agent = agents_[static_cast<std::size_t>(node)];
  if (kind == ControlKind::linked) agent.linked = true;
  if (kind != ControlKind::home || !read_struct(payload, agent.at) || tree_) return;
  if (std::ranges::all_of(agents_, [](const AgentEnd& a) { return a.at.port != 0 || a.lost_before; })) {
    loop_.cancel(waiting_);
    loop_.at(os::now(), [this] { build_tree(); });  // not from inside a handler of a channel that is given away
  }
}

void AgentLinks::on_joining_closed(int node) {
  AgentEnd& agent = agents_[static_cast<std::size_t>(node)];
  ChannelPtr closed = std::exchange(agent.joining, nullptr);
  loop_.at(os::now(), [closed] {});
  if (agent.linked) return;
  if (tree_) return tree_->on_found_dead(NodeId(node));
  if (!seat_.is_first()) return static_cast<void>(agent = {});  // it comes again
  handlers_.on_lost(node, 0);
}

void AgentLinks::build_tree() {
  if (seat_.is_first() && std::ranges::any_of(agents_, [](const AgentEnd& a) { return !a.joining; })) return;  // one is lost already
  build_tree_of_those_here();
}

void AgentLinks::build_tree_of_those_here() {
  if (tree_) return;
  tree_ = std::make_unique<TreeNode>(
      loop_, seat_.key, head_node, settings_,
      TreeNode::Handlers{[this](NodeId from, ControlKind kind, Bytes payload) { on_message(from, kind, payload); },
                         [this](NodeId agent, std::uint32_t silent_ms) { handlers_.on_lost(agent.value, silent_ms); },
                         [](TreeNode::EndReason) {}, [](NodeId) {}});
  for (int node = 0; node < std::ssize(agents_); ++node) {
    if (agents_[static_cast<std::size_t>(node)].joining) tree_->set_address(NodeId(node), agents_[static_cast<std::size_t>(node)].at);
    else tree_->on_found_dead(NodeId(node));
  }
  for (int node = 0; node < std::ssize(agents_); ++node) give_place(node);
  if (!seat_.is_first()) tree_->on_started();  // from here on silence counts
  handlers_.on_all_joined();
}

// With the addresses of those above it; whoever stands below the head at once keeps its connection.
void AgentLinks::give_place(int node) {
  AgentEnd& agent = agents_[static_cast<std::size_t>(node)];
  if (!agent.joining) return;
  std::vector<AgentAddress> above;
  for (NodeId other : tree_->shape().path_to_head(NodeId(node))) {
    if (other != head_node) above.push_back({other.value, agents_[static_cast<std::size_t>(other.value)].at});
  }
  agent.joining->send(ControlKind::place, Place{settings_, static_cast<std::uint32_t>(above.size())}, std::as_bytes(std::span(above)));
  if (above.empty()) tree_->add_link(NodeId(node), std::exchange(agent.joining, nullptr));
}

void AgentLinks::on_message(NodeId from, ControlKind kind, Bytes payload) {
  if (kind != ControlKind::where) return handlers_.on_frame(from.value, kind, payload);
  std::int32_t wanted = -1;
  if (!read_struct(payload, wanted) || wanted < 0 || wanted >= std::ssize(agents_)) return;
  send(from.value, ControlKind::address, AgentAddress{wanted, agents_[static_cast<std::size_t>(wanted)].at});
}

void AgentLinks::on_ending() {
  if (tree_) tree_->on_ending();
}

void AgentLinks::leave() {
  if (tree_) send_all_bytes(ControlKind::leave, {});
}

}  // namespace hf::daemon
