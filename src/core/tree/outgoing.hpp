// Items on their way to neighbours, many to a frame. Pure.
#pragma once
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/tree.hpp"

namespace hf::core::tree {

struct Transmit {
  NodeId to{};
  std::vector<std::byte> frame;
};

class Outgoing {
 public:
  explicit Outgoing(std::size_t frame_bytes) : frame_bytes_(frame_bytes) {}
  void add(NodeId to, const wire::TreeItem& item, std::span<const wire::OrderNote> notes = {}, Bytes payload = {}) {
    auto& frames = frames_[to];
    std::size_t bytes = sizeof item + notes.size_bytes() + payload.size();
    if (frames.empty() || frames.back().size() + bytes > frame_bytes_) frames.emplace_back(sizeof(wire::TreeHeader));
    wire::append_item(frames.back(), item, notes, payload);
  }
  bool poll(NodeId self, ViewVersion version, Transmit& out) {
    if (frames_.empty()) return false;
    auto first = frames_.begin();
    out = {first->first, std::move(first->second.front())};
    wire::finish_tree_frame(out.frame, wire::TreeKind::items, self, version);
    first->second.pop_front();
    if (first->second.empty()) frames_.erase(first);
    return true;
  }

 private:
  std::size_t frame_bytes_;
  std::map<NodeId, std::deque<std::vector<std::byte>>> frames_;  // no empty deque
};

}  // namespace hf::core::tree
