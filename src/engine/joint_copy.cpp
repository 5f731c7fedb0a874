// Large payloads inside a node of which the sender, while it waits, writes a part into the receiver's buffer, so that both cores copy:
// segment/joint_copy.hpp, docs/large-messages.md. Where ranks share cores the receiver does not ask for it: a sender that has lost its core in the
// middle of a piece would hold it up.
#include <sched.h>
#include <time.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

// A call costs as much as some 16 KiB; a sender that is late, since it logs first, begins its piece when the receiver could soon have read it.
constexpr std::uint64_t pieces_unlogged = 2, pieces_logged = 4;
constexpr unsigned looks_before_yielding = 4096, looks_before_sleeping = 2 * looks_before_yielding;  // at a writer: some 50 us each
constexpr timespec writer_pause{0, 50'000};

std::uint64_t rounded_to_pages(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

// ---- the receiver

// By its process too the receiver must be able to see that a sender has died which is writing.
bool EngineImpl::may_share_copy(Peer& from, const Message& m) {
  const bool suits = spins_ && m.arrived == 0 && m.wanted >= segment::joint_bytes_min && m.receive->sink.data;
  return suits && can_read(from, m);
}

// As read_whole.
bool EngineImpl::copy_jointly(Peer& from, Message& m) {
  const bool logged = m.header.flags & wire::flag_logged;
  const std::uint64_t piece = std::min(piece_bytes, rounded_to_pages(m.wanted / (logged ? pieces_logged : pieces_unlogged)));
  segment::JointReader reader(control.joint_offer(from.rank), from.newest_log->control().joint_help(job.self),
                              segment::joint_number(incarnation, ++from.in.joint_offers), m.exposed.address,
                              reinterpret_cast<std::uint64_t>(m.receive->sink.data), m.wanted, piece, logged ? m.exposed.ticket : 0);
  const bool read = read_claimed(from, m, reader, piece);
  reader.close();
  if (!await_writer(from, reader) || !read || reader.back() < reader.front()) return false;  // the last: its words are damaged
  const std::uint64_t written_from = std::min(m.wanted, reader.back() * piece);
  while (m.arrived < written_from) {  // claimed by both, or by a sender that could not write it
    if (!read_piece(from, m, std::min(piece, written_from - m.arrived))) return false;
  }
  m.arrived = m.wanted;
  return true;
}

bool EngineImpl::read_claimed(Peer& from, Message& m, segment::JointReader& reader, std::uint64_t piece) {
  while (reader.claim()) {
    if (!read_piece(from, m, piece)) return false;
    point("rendezvous.arriving");
  }
  return true;
}

// It only copies: it is soon done, or it has lost its core. False: it has died, and nobody knows what it has written.
bool EngineImpl::await_writer(const Peer& from, const segment::JointReader& reader) const {
  for (unsigned i = 1; reader.is_being_written(); ++i) {
    if (i % looks_before_yielding != 0 && i < looks_before_sleeping) continue;
    if (!from.in.memory.alive()) return false;
    if (i < looks_before_sleeping) ::sched_yield();
    else ::nanosleep(&writer_pause, nullptr);
  }
  return true;
}

// ---- the sender

void EngineImpl::help(Peer& to) {
  segment::JointWriter writer(control.joint_help(to.rank), to.newest_log->control().joint_offer(job.self));
  const std::uint64_t number = writer.offered();
  if (number == 0 || !writer.join(number)) return;
  if (may_write(to, writer)) {
    while (auto piece = writer.claim()) {
      point("rendezvous.helping");
      const Bytes bytes(reinterpret_cast<const std::byte*>(writer.from()) + piece->offset, piece->bytes);
      if (to.in.memory.write(writer.into() + piece->offset, bytes)) continue;
      writer.give_back();
      break;
    }
  }
  writer.leave();
}

// Without a log the buffer stays until the receiver has said that it is done, which it has not while its offer stands.
bool EngineImpl::may_write(Peer& to, const segment::JointWriter& writer) {
  const std::uint64_t ticket = writer.ticket();
  const bool stays = job.keeps_payloads ? ticket != 0 && segment::is_exposed(control.header(), ticket) : ticket == 0;
  return stays && to.running() && can_read(to);
}

}  // namespace hf::engine
