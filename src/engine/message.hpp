// A message that has arrived, at least by its envelope: where its payload is, and who takes it.
#pragma once
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "core/match/matcher.hpp"
#include "engine/operation.hpp"
#include "segment/log_reader.hpp"
#include "wire/frame.hpp"

namespace hf::engine {

class PeerLog;

struct Message : core::match::Arrived {
  wire::FrameHeader header;
  enum class Payload {
    held,       // copied into `bytes`: counts against the source's credit
    local_log,  // in the log of the source's incarnation, on this node
    remote_log, // in the log of the source's incarnation, served by its agent
    at_sender,  // to be asked for with clear_to_send
    exposed,    // in the buffer of a sender on this node, for a while
  } payload = Payload::held;
  std::vector<std::byte> bytes;       // held and owned
  Bytes borrowed;                     // held, not yet owned: a view into the rail, while the frame is being handled
  bool owned = false;
  bool from_log = false;              // held, but taken from a log: does not count against a channel's credit
  bool needs_log = false;             // the sender must keep its log for it
  segment::Record record;             // local_log
  PeerLog* log = nullptr;             // local_log
  RecvOperation* receive = nullptr;   // matched, payload under way
  wire::Exposed exposed;              // exposed
  bool awaits_log = false;            // exposed no more, and not in the log yet
  std::uint64_t wanted = 0;           // payload bytes the receive takes
  std::uint64_t arrived = 0;          // of them, in the sink
  std::uint64_t taken = 0;            // protocol optimist: number in the order in which its source's were taken
  SendOperation* self_synchronous = nullptr;
  bool lost_with_sender() const { return payload == Payload::at_sender || payload == Payload::exposed; }
};

// Recycles messages: no allocation in the steady state.
class MessagePool {
 public:
  Message* get() {
    if (free_.empty()) return new Message;
    Message* m = free_.back().release();
    free_.pop_back();
    return m;
  }
  void put(Message* m) {
    std::vector<std::byte> bytes = std::move(m->bytes);
    bytes.clear();
    if (bytes.capacity() > keep_bytes) bytes = {};
    *m = Message{};
    m->bytes = std::move(bytes);
    if (free_.size() < keep) free_.emplace_back(m);
    else delete m;
  }

 private:
  static constexpr std::size_t keep = 1024;
  static constexpr std::size_t keep_bytes = 16384;
  std::vector<std::unique_ptr<Message>> free_;
};

}  // namespace hf::engine
