// For tests: one rank made of the cores alone, joined in the order that the engine joins them. The test is the network
// and the disk: it says what arrives, what is stored, and when the process dies.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/match/matcher.hpp"
#include "core/match/numbers.hpp"
#include "core/vprotocol/pessimist.hpp"

namespace hf::core::vprotocol {

// What outlives the process: determinants by event, the word of the lazy event, names of the frames in the sender log.
struct StableStore {
  std::vector<std::vector<std::byte>> events;
  TestClock last_failed{};
  std::set<std::string> sent;
  bool log_lost = false;  // a node was: `sent` began anew
};

class TestRank {
 public:
  struct Message : match::Arrived {
    std::uint64_t number = 0;  // n-th of its source
    bool synchronous = false;
  };
  struct Request : match::Posted {
    RequestNumber number{};
    bool forced = false, matched = false, cancelled = false;
    Message* message = nullptr;
  };
  struct Frame {
    wire::FrameKind kind{};
    std::string name;
  };

  // Each new object is an incarnation; the store is the first one's and all their successors'.
  TestRank(StableStore& store, int ranks, bool stores_at_once)
      : store_(store), stores_at_once_(stores_at_once), arrivals_(static_cast<std::size_t>(ranks)) {
    for (const auto& event : store.events) {
      EventHead head;
      std::memcpy(&head, event.data(), sizeof(head));
      std::vector<std::int32_t> indices(head.kind == EventKind::delivery ? head.count : 0);
      if (!indices.empty()) std::memcpy(indices.data(), event.data() + sizeof(head), indices.size() * 4);
      loaded_ = protocol_.replay().load(head, indices) && loaded_;
    }
    loaded_ = protocol_.replay().end_loading() && loaded_;
    protocol_.replay().load_last_failed(store.last_failed);
    protocol_.begin(!store.events.empty() || store.last_failed.value > 0, store.log_lost);
  }
  bool loaded() const { return loaded_; }
  bool replaying() const { return protocol_.replaying(); }
  Pessimist& protocol() { return protocol_; }
  match::Matcher& matcher() { return matcher_; }
  std::uint64_t unstable() const { return unstable_.size(); }

  Request& post(Rank source, MessageTag tag) {
    auto& r = *requests_.emplace_back(std::make_unique<Request>());
    r.source = source;
    r.tag = tag;
    r.any_source = source == any_rank;
    r.number = protocol_.on_post(r);
    r.forced = r.any_source && r.source != any_rank;
    if (match::Arrived* m = matcher_.post(r)) complete(r, static_cast<Message&>(*m));
    after();
    return r;
  }

  struct Arrival {
    match::Arrivals::Verdict verdict{};
    Message* message = nullptr;
    Request* receive = nullptr;
  };
  Arrival arrive(Rank source, MessageTag tag, std::uint64_t number, bool synchronous) {
    Arrival out{arrivals_[static_cast<std::size_t>(source.value)].in_order(Sequence{number})};
    if (out.verdict != match::Arrivals::Verdict::take) return out;
    out.message = messages_.emplace_back(std::make_unique<Message>()).get();
    out.message->source = source;
    out.message->tag = tag;
    out.message->number = number;
    out.message->synchronous = synchronous;
    if (match::Posted* p = matcher_.arrive(*out.message)) {
      out.receive = static_cast<Request*>(p);
      complete(*out.receive, *out.message);
    }
    return out;
  }
  std::uint64_t arrived(Rank source) const { return arrivals_[static_cast<std::size_t>(source.value)].below(); }

  // A blocking probe: call look() until it finds one, then found().
  struct Probe {
    match::Posted posted;
    RequestNumber number{};
    bool forced = false;
  };
  Probe begin_probe(Rank source, MessageTag tag) {
    Probe probe;
    probe.posted.source = source;
    probe.posted.tag = tag;
    probe.posted.any_source = source == any_rank;
    probe.number = protocol_.on_post(probe.posted);
    probe.forced = probe.posted.any_source && probe.posted.source != any_rank;
    after();
    return probe;
  }
  Message* look(const Probe& probe) {
    if (probe.posted.mode == match::Mode::held && protocol_.replaying()) return nullptr;
    auto* found = peek(probe.posted.source, probe.posted.tag);
    if (found) {
      protocol_.on_match(probe.number, probe.posted.any_source, probe.forced, found->source);
      persist();
    }
    return found;
  }
  Message* peek(Rank source, MessageTag tag) { return static_cast<Message*>(matcher_.peek(source, tag)); }

  Replay::Test begin_test() {
    Replay::Test plan = protocol_.on_test();
    if (plan.kind != Replay::Test::exactly) after();
    return plan;
  }
  void end_test(std::span<const std::int32_t> found) {
    protocol_.on_test_result(found);
    if (found.empty()) failed_[stored_ + unstable_.size()] = protocol_.last_failed();
    else persist();
    store_failed();
  }
  // After the requests of an `exactly` have been waited for.
  void after() {
    if (!protocol_.poll_caught_up()) return;
    caught_up_ = true;
    matcher_.release_held();
    while (auto match = matcher_.poll_match()) {
      auto& r = static_cast<Request&>(*match.receive);
      complete(r, static_cast<Message&>(*match.message));
      released_.push_back(&r);
    }
  }
  // True once: caught up since the last question. `released`: matches that followed from it, in order.
  bool poll_caught_up(std::vector<Request*>& released) {
    released = std::move(released_);
    released_.clear();
    return std::exchange(caught_up_, false);
  }

  // All that the source had sent before this incarnation has arrived.
  void on_past(Rank source) { past_.insert(source); }
  // Empty: it waits for the past of its source.
  std::optional<bool> try_cancel(Request& r) {
    if (r.cancelled) return true;
    auto plan = protocol_.on_cancel(r.number, r.any_source);
    if (plan == Pessimist::CancelPlan::after_past && !past_.contains(r.source)) return std::nullopt;
    bool withdrawn = plan == Pessimist::CancelPlan::cancelled;
    if (plan == Pessimist::CancelPlan::free || plan == Pessimist::CancelPlan::after_past) {
      // A forced receive has a match, though its message may not have come again yet.
      withdrawn = !r.matched && !r.forced;
      protocol_.on_cancel_result(r.number, withdrawn);
      persist();
    }
    if (withdrawn) {
      matcher_.withdraw(r);
      r.cancelled = true;
    }
    after();
    return withdrawn;
  }
  bool cancel(Request& r) { return *try_cancel(r); }
  double time(double now) {
    double t = protocol_.on_time(now);
    persist();
    after();
    return t;
  }

  // A frame that the program's call makes. It is transmitted, waits at the gate, or is found in a predecessor's log.
  enum class Sent { leaves, waits, in_log };
  Sent send(wire::FrameKind kind, std::string name) {
    if (store_.sent.contains(name)) return Sent::in_log;
    frames_.push_back({kind, std::move(name)});
    if (!protocol_.gate().offer(kind, frames_.size() - 1)) return Sent::waits;
    publish(frames_.back());
    return Sent::leaves;
  }
  // The first n events of this incarnation are stable: the frames that may leave now.
  std::vector<Frame> stored(std::uint64_t n) {
    while (stored_ < n && !unstable_.empty()) {
      store_.events.push_back(std::move(unstable_.front()));
      unstable_.erase(unstable_.begin());
      ++stored_;
    }
    store_failed();
    protocol_.gate().on_stable(stored_);
    std::vector<Frame> out;
    for (Gate::Token token; protocol_.gate().poll_released(token);) {
      out.push_back(frames_[token]);
      publish(out.back());
    }
    return out;
  }
  std::uint64_t stored_count() const { return stored_; }
  // Acknowledgements of synchronous messages since the last call, in match order.
  std::vector<Message*> poll_acknowledged() { return std::exchange(acknowledged_, {}); }

 private:
  // The word of the lazy event is stored behind the determinants that came before it, and with those that came after.
  void store_failed() {
    while (!failed_.empty() && failed_.begin()->first <= stored_) {
      store_.last_failed = std::max(store_.last_failed, failed_.begin()->second);
      failed_.erase(failed_.begin());
    }
  }
  void complete(Request& r, Message& m) {
    r.matched = true;
    r.message = &m;
    protocol_.on_match(r.number, r.any_source, r.forced, m.source);
    persist();
    if (m.synchronous) acknowledged_.push_back(&m);
  }
  // Appended events leave the core one by one, in order.
  void persist() {
    auto encoded = protocol_.events();
    while (!encoded.empty()) {
      EventHead head;
      std::memcpy(&head, encoded.data(), sizeof(head));
      auto whole = encoded.first(encoded_bytes(head));
      unstable_.emplace_back(whole.begin(), whole.end());
      encoded = encoded.subspan(whole.size());
    }
    protocol_.events_taken();
    if (stores_at_once_) stored(stored_ + unstable_.size());
  }
  void publish(const Frame& frame) {
    if (frame.kind != wire::FrameKind::clear_to_send && frame.kind != wire::FrameKind::data) store_.sent.insert(frame.name);
  }

  StableStore& store_;
  bool stores_at_once_;
  bool loaded_ = true, caught_up_ = false;
  Pessimist protocol_;
  match::Matcher matcher_;
  std::vector<match::Arrivals> arrivals_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::set<Rank> past_;
  std::vector<Request*> released_;
  std::vector<Message*> acknowledged_;
  std::vector<std::vector<std::byte>> unstable_;
  std::uint64_t stored_ = 0;
  std::map<std::uint64_t, TestClock> failed_;  // last failed test, by the number of determinants before it
  std::vector<Frame> frames_;
};

}  // namespace hf::core::vprotocol
