// The receiving end of one stream: each message once and in order, however often and on whatever way it comes. Pure.
#pragma once
#include <map>
#include <utility>

#include "base/ids.hpp"
#include "core/tree/retained.hpp"

namespace hf::core::tree {

class InOrder {
 public:
  ControlSequence next() const { return next_; }
  // False: it is here already, or too far ahead to be kept; the sender sends that again.
  bool offer(ControlSequence n, Message message, std::size_t ahead_max) {
#ifdef HOLDFAST_MUTATE_TAKE_TWICE
    if (n < next_) next_ = n;
#endif
    if (n < next_ || n.value - next_.value >= ahead_max) return false;
    return waiting_.try_emplace(n, std::move(message)).second;
  }
  // The next in order, if it is here.
  const Message* ready() const {
    return !waiting_.empty() && waiting_.begin()->first == next_ ? &waiting_.begin()->second : nullptr;
  }
  Message take() {
    Message message = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_;
    return message;
  }

 private:
  ControlSequence next_{};
  std::map<ControlSequence, Message> waiting_;  // none before next_
};

}  // namespace hf::core::tree
