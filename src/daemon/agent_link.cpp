#include "daemon/agent_link.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t proof_timeout_ms = 5000;

}  // namespace

AgentLinks::AgentLinks(os::EventLoop& loop, std::vector<std::string> hosts, const LaunchOptions& options, Handlers handlers)
    : loop_(loop),
      hosts_(std::move(hosts)),
      options_(options),
      handlers_(std::move(handlers)),
      launcher_(make_launcher(loop, options, handlers_.on_line)),
      loopback_only_(on_this_machine(options, hosts_)),
      links_(hosts_.size()) {}

Result<> AgentLinks::start() {
  randombytes_buf(key_.data(), key_.size());
  if (Result<> listening = listen(); !listening) return listening;
  loop_.add(listener_.fd.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
  AgentTicket ticket;
  ticket.build = own_build();
  ticket.port = listener_.port;
  ticket.key = key_;
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

Result<> AgentLinks::listen() {
  std::uint32_t at = loopback_only_ ? os::loopback_address() : os::every_address;
  if (!options_.head_address.empty()) {
    auto given = os::resolve(options_.head_address);
    if (!given) return fail(fmt::format("--head-address {}: not an address of this machine", options_.head_address));
    at = *given;
  }
  Result<os::TcpListener> listener = os::listen_tcp(at);
  if (!listener) {
    return options_.head_address.empty()
               ? std::unexpected(listener.error())
               : fail(fmt::format("--head-address {}: {}", options_.head_address, listener.error().text));
  }
  listener_ = std::move(*listener);
  return {};
}

// Where an agent on that host may find this machine, the most likely first.
Result<std::vector<std::uint32_t>> AgentLinks::addresses_for(const std::string& host) const {
  if (!options_.head_address.empty()) return std::vector{*os::resolve(options_.head_address)};
  const std::uint32_t loopback = os::loopback_address();
  if (loopback_only_) return std::vector{loopback};
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

void AgentLinks::accept() {
  while (os::UniqueFd fd = os::accept_tcp(listener_.fd.get())) {
    auto guest = std::make_shared<Guest>();
    std::weak_ptr<Guest> weak = guest;
    guest->channel = std::make_shared<ControlChannel>(
        loop_, std::move(fd),
        [this, weak](ControlKind kind, Bytes payload) {
          if (auto self = weak.lock()) on_answer(self, kind, payload);
        },
        [this, weak] {
          if (auto self = weak.lock()) dismiss(self);
        });
    make_nonce(guest->challenge.nonce);
    guests_.push_back(guest);
    guest->timer = loop_.at(os::later(os::now(), proof_timeout_ms * os::millisecond_ns), [this, weak] {
      if (auto self = weak.lock()) dismiss(self);
    });
    guest->challenged = os::now();
    guest->channel->send(ControlKind::challenge, guest->challenge);
  }
}

void AgentLinks::dismiss(const std::shared_ptr<Guest>& guest) {
  if (std::exchange(guest->over, true)) return;
  loop_.cancel(guest->timer);
  if (!std::exchange(told_stranger_, true)) handlers_.on_stranger("a connection that does not know the job's key was refused");
  // Not from inside one of the channel's own handlers.
  loop_.at(os::now(), [this, guest] { guests_.remove(guest); });
}

void AgentLinks::on_answer(const std::shared_ptr<Guest>& guest, ControlKind kind, Bytes payload) {
  Answer answer;
  if (guest->over) return;
  if (kind != ControlKind::answer || !read_struct(payload, answer) || answer.node < 0 ||
      answer.node >= std::ssize(links_) || joined(answer.node)) {
    return dismiss(guest);
  }
  std::uint8_t expected[32];
  make_proof(key_, "agent", answer.node, guest->challenge.nonce, answer.nonce, expected);
  if (!same_proof(expected, answer.proof)) return dismiss(guest);
  guest->over = true;
  loop_.cancel(guest->timer);
  Confirm confirm;
  make_proof(key_, "head", answer.node, guest->challenge.nonce, answer.nonce, confirm.proof);
  guest->channel->send(ControlKind::confirm, confirm);
  guest->channel->set_frame_bytes_max(control_frame_bytes_max);
  int node = answer.node;
  const Instant now = os::now();
  // A clock of this machine says something between the two.
  if (answer.time_ns < guest->challenged.value || answer.time_ns > now.value) {
    links_[static_cast<std::size_t>(node)].clock_offset_ns = (guest->challenged.value + now.value) / 2 - answer.time_ns;
  }
  guest->channel->set_handlers([this, node](ControlKind k, Bytes p) { handlers_.on_frame(node, k, p); },
                               [this, node] { handlers_.on_lost(node); });
  links_[static_cast<std::size_t>(node)].channel = guest->channel;
  loop_.at(os::now(), [this, guest] { guests_.remove(guest); });
  handlers_.on_joined(node);
}

void AgentLinks::send_all_bytes(ControlKind kind, Bytes body) {
  for (Link& link : links_) {
    if (link.channel) link.channel->send_bytes(kind, body);
  }
}

void AgentLinks::hold(int node, bool on) {
  if (!joined(node)) return;
  if (on) channel(node).flush_blocking();
  channel(node).hold(on);
}

void AgentLinks::close(int node) {
  if (joined(node)) channel(node).shut();
}

}  // namespace hf::daemon
