// The messages of one stream, in order, from the first that somebody may still ask for. Pure.
#pragma once
#include <deque>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/ids.hpp"
#include "core/tree/options.hpp"
#include "wire/tree.hpp"

namespace hf::core::tree {

struct Message {
  std::vector<std::byte> payload;
  std::uint64_t other = 0;             // wire::TreeItem::other
  std::vector<wire::OrderNote> notes;  // of a message to all
};

class Retained {
 public:
  ControlSequence first() const { return first_; }  // of those that are here
  ControlSequence next() const { return ControlSequence(first_.value + messages_.size()); }
  bool empty() const { return messages_.empty(); }
  // A single message larger than the window passes when it is alone.
  bool has_room(std::size_t bytes, const TreeOptions& limits) const {
    return messages_.empty() || (messages_.size() < limits.window_messages && bytes_ + bytes <= limits.window_bytes);
  }
  void push(Message message) {
    bytes_ += message.payload.size();
    messages_.push_back(std::move(message));
  }
  const Message& at(ControlSequence n) const {
    HF_CHECK(n >= first_ && n < next());
    return messages_[n.value - first_.value];
  }
  // False: nothing changed. A number beyond what was ever sent is a peer's mistake and changes nothing.
  bool drop_before(ControlSequence n) {
    if (n <= first_ || n > next()) return false;
    for (; first_ < n; ++first_) {
      bytes_ -= messages_.front().payload.size();
      messages_.pop_front();
    }
    return true;
  }
  void clear() { drop_before(next()); }

 private:
  std::deque<Message> messages_;
  ControlSequence first_{};
  std::size_t bytes_ = 0;
};

}  // namespace hf::core::tree
