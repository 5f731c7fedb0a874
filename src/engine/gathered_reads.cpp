// Payloads of several announcements that wait in a ring one behind the other, read in one call: a call and the look at the sender's pidfd
// cost as much as 16 KiB. Nothing waits for more to come: what has been gathered is read when the ring is empty.
#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

constexpr std::uint64_t gathered_message_max = 64 << 10;
constexpr std::uint64_t gathered_bytes_max = 256 << 10;  // as a piece of a message alone: lost when it was taken back
constexpr std::size_t gathered_max = 8;
static_assert(gathered_max <= os::ProcessMemory::pieces_max);

}  // namespace

bool EngineImpl::may_gather(const Peer& from, const Message& m) const {
  if (!in_frame_ || !m.receive->sink.data || m.arrived > 0 || m.wanted == 0 || m.wanted > gathered_message_max) return false;
  return !from.in.gathered.empty() || more_waits(from);
}

void EngineImpl::gather(Peer& from, Message& m) {
  if (from.in.gathered.empty()) tell_reading(from, m.exposed.ticket);
  from.in.gathered.push_back(&m);
  std::uint64_t bytes = 0;
  for (const Message* gathered : from.in.gathered) bytes += gathered->wanted;
  const bool full = from.in.gathered.size() == gathered_max || bytes + gathered_message_max > gathered_bytes_max;
  if (full || !more_waits(from)) read_gathered(from);
}

void EngineImpl::read_gathered(Peer& from) {
  gathered_.swap(from.in.gathered);
  const bool read = read_at_once(from, gathered_);
  for (Message* m : gathered_) {
    if (read && stands(from, *m)) {
      m->arrived = m->wanted;
      point("rendezvous.arriving");
      end_reading(from, *m);
    } else {
      read_alone(from, *m);
    }
  }
  gathered_.clear();
}

bool EngineImpl::read_at_once(Peer& from, std::span<Message* const> messages) {
  if (!from.running() || !can_read(from)) return false;
  gathered_pieces_.clear();
  for (const Message* m : messages) {
    if (m->header.incarnation != from.incarnation.value || !stands(from, *m)) return false;
    gathered_pieces_.push_back({m->exposed.address, MutableBytes(m->receive->sink.data, m->wanted)});
  }
  return from.in.memory.read_at_once(gathered_pieces_) && from.in.memory.alive();
}

}  // namespace hf::engine
