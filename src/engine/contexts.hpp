// The contexts of a process: matching, numbering and exactly-once of each (design rules 1 and 2).
#pragma once
#include <bit>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/interval_set.hpp"
#include "core/match/matcher.hpp"
#include "core/match/numbers.hpp"
#include "core/vprotocol/taken_sums.hpp"
#include "engine/message.hpp"

namespace hf::engine {

struct ContextPeer {
  Sequence next_send{};  // number of the next message to this rank
  Sequence next_recv{};  // numbered contexts: number of the next message to be received from it
  core::match::Arrivals arrivals;
  std::map<Sequence, Message*> early;  // arrived before one that stands before it
  // Numbered contexts: receives without their message, messages without their receive. Mostly taken in the order in which they came.
  core::match::List<RecvOperation> numbered_posted;
  core::match::List<Message> numbered_arrived;
  std::unique_ptr<core::vprotocol::TakenSums> sums;  // level `node`, of a rank elsewhere; null: nothing was taken
};

struct ContextState {
  explicit ContextState(int rank_count) : peers(static_cast<std::size_t>(rank_count)) {}
  int users = 0;  // open_context without close_context
  core::match::Matcher matcher;
  std::vector<ContextPeer> peers;  // by job-wide rank
  ContextPeer& peer(Rank rank) { return peers[static_cast<std::size_t>(rank.value)]; }

  // The posted receive that a message takes; null: none. posted_for leaves it posted.
  RecvOperation* posted_for(Rank source, MessageTag tag) { return static_cast<RecvOperation*>(matcher.taker(source, tag)); }
  RecvOperation* posted_for(Rank source, Sequence number) {
    auto& posted = peer(source).numbered_posted;
    RecvOperation* op = posted.first();
    while (op && op->sequence != number) op = posted.after(*op);
    return op;
  }
  RecvOperation* take_posted(Rank source, MessageTag tag) { return static_cast<RecvOperation*>(matcher.take_posted(source, tag)); }
  RecvOperation* take_posted(Rank source, Sequence number) {
    RecvOperation* op = posted_for(source, number);
    if (op) peer(source).numbered_posted.remove(*op);
    return op;
  }
  // The message of that number, if it has arrived.
  Message* take_arrived(Rank source, Sequence number) {
    auto& arrived = peer(source).numbered_arrived;
    Message* m = arrived.first();
    while (m && Sequence{m->header.sequence} != number) m = arrived.after(*m);
    if (m) arrived.remove(*m);
    return m;
  }
};

class Contexts {
 public:
  explicit Contexts(int rank_count) : ranks_(rank_count) {}
  // The context, made when it is not known yet; null when it is closed.
  ContextState* find(Context context) {
    if (context == last_id_ && last_) [[likely]] return last_;
    // A program that sends messages and calls collectives goes from one to the other and back.
    std::swap(last_id_, before_id_);
    std::swap(last_, before_);
    if (context == last_id_ && last_) return last_;
    return look_up(context);
  }
  // Forgets the state, remembers the name. The caller has drained it.
  void close(Context context) {
    states_.erase(context);
    closed_.insert(closed_number(context));
    last_ = before_ = nullptr;
  }
  template <class Visit>
  void each(Visit&& visit) {
    for (auto& [id, state] : states_) visit(id, *state);
  }

 private:
  [[gnu::noinline]] ContextState* look_up(Context context) {
    auto it = states_.find(context);
    if (it == states_.end()) {
      if (closed_.contains(closed_number(context))) return nullptr;
      it = states_.emplace(context, std::make_unique<ContextState>(ranks_)).first;
    }
    last_id_ = context;
    return last_ = it->second.get();
  }

  // Successive contexts of one maker and kind, whose names differ by 8 (docs/contexts.md), become successive numbers.
  static constexpr std::uint64_t closed_number(Context context) { return std::rotr(context.value, kind_bits); }
  static constexpr int kind_bits = 3;

  int ranks_;
  std::unordered_map<Context, std::unique_ptr<ContextState>> states_;
  IntervalSet closed_;
  // The two found last; null: none.
  Context last_id_{}, before_id_{};
  ContextState *last_ = nullptr, *before_ = nullptr;
};

}  // namespace hf::engine
