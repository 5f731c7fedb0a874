// Items on their way to neighbours, many to a frame. A frame leaves at once if none has left to that neighbour for a while;
// else it waits for further items: so what an agent passes on costs it frames by time, not by the agents below it. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "core/tree/options.hpp"
#include "core/tree/shape.hpp"
#include "core/tree/timer.hpp"
#include "wire/tree.hpp"

namespace hf::core::tree {

struct Transmit {
  NodeId to{};
  std::vector<std::byte> frame;
};

class Outgoing {
 public:
  explicit Outgoing(const TreeOptions& options) : frame_bytes_(options.frame_bytes), pace_ns_(options.pace_ns) {}
  void add(NodeId to, const wire::TreeItem& item, std::span<const wire::OrderNote> notes = {}, Bytes payload = {}) {
    auto& frames = queues_[to].frames;
    std::size_t bytes = sizeof item + notes.size_bytes() + payload.size();
    if (frames.empty() || frames.back().size() + bytes > frame_bytes_) frames.emplace_back(sizeof(wire::TreeHeader));
    wire::append_item(frames.back(), item, notes, payload);
  }
  bool poll(Instant now, NodeId self, ViewVersion version, Transmit& out) {
    for (auto& [to, queue] : queues_) {
      if (queue.frames.empty() || now < ready(queue)) continue;
      out = {to, std::move(queue.frames.front())};
      wire::finish_tree_frame(out.frame, wire::TreeKind::items, self, version);
      queue.frames.pop_front();
      queue.left = now;
      return true;
    }
    return false;
  }
  bool empty() const {
    return std::ranges::all_of(queues_, [](const auto& entry) { return entry.second.frames.empty(); });
  }
  void next_deadline(std::optional<Instant>& soonest) const {
    for (const auto& [to, queue] : queues_) {
      if (!queue.frames.empty()) earlier(soonest, ready(queue));
    }
  }
  // The dead take nothing any more.
  void on_view(const Shape& shape) {
    std::erase_if(queues_, [&](const auto& entry) { return !shape.is_alive(entry.first); });
  }

 private:
  struct Queue {
    std::deque<std::vector<std::byte>> frames;
    std::optional<Instant> left;  // when the last one did
  };
  // All but the last frame are full.
  Instant ready(const Queue& queue) const {
    return queue.frames.size() > 1 || !queue.left ? Instant{INT64_MIN} : after(*queue.left, pace_ns_);
  }

  std::size_t frame_bytes_;
  std::int64_t pace_ns_;
  std::map<NodeId, Queue> queues_;
};

}  // namespace hf::core::tree
