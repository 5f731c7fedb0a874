// What a user may set of the tree's messages, and the bounds that follow.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hf::core::tree {

struct TreeOptions {
  int fan_out = 32;
  // Of one stream (an agent's to the head, the head's to one agent, the head's to all): what is not acknowledged yet. An
  // agent keeps at most that of the stream to all, and passes on at most that of each agent below it.
  std::size_t window_messages = 1024;
  std::size_t window_bytes = 4u << 20;
  std::size_t frame_bytes = 256u << 10;       // of a frame: further items go into the next one, unless it is one item alone
  std::int64_t pace_ns = 2'000'000;           // between two frames to a neighbour that are not full
  std::int64_t ack_delay_ns = 20'000'000;     // acknowledgements wait so long for others that go the same way
  std::int64_t stable_delay_ns = 200'000'000; // the same, for what only frees memory
  std::int64_t resend_ns = 1'000'000'000;     // without an acknowledgement everything is sent again
};

}  // namespace hf::core::tree
