// World: what the applications at head and agents post, and when a run is over.
#include <fmt/format.h>

#include "sim/world.hpp"

namespace hf::sim {
namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t after_faults_ns = 1000 * millisecond;   // for so long messages still flow
constexpr std::int64_t settle_max_ns = 15'000 * millisecond;   // and in so long all must have settled

}  // namespace

std::vector<std::byte> World::payload(std::uint64_t message) {
  std::vector<std::byte> bytes(sizeof message + draw(100));
  std::memcpy(bytes.data(), &message, sizeof message);
  return bytes;
}

void World::tick() {
  if (posting_) post_some();
  settle();
  if (!over_) events_.in(10 * millisecond, [this] { tick(); });
}

void World::post_some() {
  Instant now = events_.now();
  if (!seat(head_node).stopped) post_at_head(now);
  for (int i = 0; i < 5; ++i) {
    NodeId from = any_agent();
    Seat& s = seat(from);
    if (s.gone || s.stopped || !s.host->tree().post_up(now, payload(next_message_))) continue;
    checker_.on_post_up(from, next_message_++);
    s.host->drain(now, 0);
    plan_wake(from);
  }
}

void World::post_at_head(Instant now) {
  Host& head = *seat(head_node).host;
  if (draw(3) == 0 && head.tree().post_all(now, payload(next_message_))) checker_.on_post_all(next_message_++);
  for (int i = 0; i < 3; ++i) {
    NodeId to = any_agent();
    if (head.membership().shape().is_alive(to) && head.tree().post_down(now, to, payload(next_message_))) {
      checker_.on_post_down(to, next_message_++);
    }
  }
  // In this order: the message to all has to wait for the one before it.
  if (draw(10) == 0 && head.tree().post_all(now, payload(next_message_))) checker_.on_post_all(next_message_++);
  head.drain(now, 0);
  plan_wake(head_node);
}

// Two phases: faults with messages, then nothing but what is left to heal, which must end.
void World::settle() {
  if (!faults_planned_) {
    // Without this a job that never starts would never end.
    if (events_.now().value > settle_max_ns) {
      checker_.on_unsettled(fmt::format("{} of {} agents have started", started_, scenario_.cores.agents));
      over_ = true;
    }
    return;
  }
  if (faults_open_ > 0) return;
  if (cost_ && agreed()) end_cost(outcome_.heal);
  std::int64_t since = events_.now().value - std::max(last_fault_, first_fault_).value;
  if (scenario_.messages && since < after_faults_ns) return;
  posting_ = false;
  std::string missing = cost_ ? "the living do not agree" : checker_.missing();
  if (missing.empty() && seat(head_node).host->tree().all_taken()) {
    check_views();
    over_ = true;
  } else if (since > settle_max_ns) {
    std::string what = checker_.missing();
    checker_.on_unsettled(what.empty() ? missing.empty() ? "the head waits for acknowledgements" : missing : what);
    over_ = true;
  }
}

void World::check_views() {
  std::uint32_t version = seat(head_node).host->membership().version().value;
  std::vector<bool> living(static_cast<std::size_t>(scenario_.cores.agents));
  for (int at = -1; at < scenario_.cores.agents; ++at) {
    if (seat(NodeId(at)).gone) continue;
    core::membership::Membership& membership = seat(NodeId(at)).host->membership();
    for (int i = 0; i < scenario_.cores.agents; ++i) living[static_cast<std::size_t>(i)] = membership.shape().is_alive(NodeId(i));
    checker_.on_view_at_end(NodeId(at), membership.version().value, version, living);
  }
}

}  // namespace hf::sim
