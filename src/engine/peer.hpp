// What this rank knows of another: its newest incarnation, the way to it, the way from it, its logs.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "core/vprotocol/incoming_dependencies.hpp"
#include "engine/message.hpp"
#include "engine/operation.hpp"
#include "engine/peer_log.hpp"
#include "engine/reached.hpp"
#include "engine/unasked.hpp"
#include "os/process_memory.hpp"
#include "rail/shm/ring.hpp"
#include "wire/bootstrap.hpp"

namespace hf::engine {

using MessageName = std::pair<Context, Sequence>;
inline MessageName name_of(const wire::FrameHeader& h) { return {Context{h.context}, Sequence{h.sequence}}; }

// A frame that waits for room on the rail. `send`: its payload source (protocol none), completed when it has left.
struct QueuedFrame {
  wire::FrameHeader header;
  SendOperation* send = nullptr;
  std::uint64_t needs = 0;  // events of this rank that must be stable before it may leave
  bool taken = false;  // by the rail, which still sends from the program's buffer
};

// A payload on its way: after clear_to_send, or unasked behind its announcement.
struct Transfer {
  wire::FrameHeader header;       // data header to repeat: context, sequence
  std::uint64_t next = 0, end = 0;
  SendOperation* send = nullptr;  // protocol none: from the program's buffer
  segment::Record record;         // else from the own log
  bool unasked = false;           // the receiver has not asked for it
};

// An announced message of which pieces come unasked: a receiver that was not there for all of them asks for it.
struct Following {
  std::optional<MessageName> name;
  bool missed = false;  // some have come and were not taken
};

// How far the own events go that were sent with messages over a channel.
struct Carried {
  std::uint64_t end = 0;  // of the stream, over all incarnations
  TestClock failed{};
  bool operator==(const Carried&) const = default;
};

struct Outgoing {
  bool open = false;               // a channel to the newest incarnation is open
  rail::shm::RingWriter ring;
  std::uint64_t taken_before = 0;  // messages of ours that the peer is known to have had: how far we are to come (how_far.cpp)
  bool asked_how_far = false;      // this incarnation, on this channel
  bool level = false;              // TCP: this incarnation has told that it is level with its predecessors
  std::uint64_t sent = 0;          // log stream position up to which records were offered and taken by the rail
  std::optional<segment::LogReader> reader;  // of the own log, to offer records that had to wait
  std::deque<QueuedFrame> queue;   // frames that are not in the log
  std::deque<Transfer> transfers;
  Unasked unasked;
  std::optional<MessageName> followed;  // the last message of which pieces were sent unasked
  std::uint64_t eager_bytes = 0;   // eager payload bytes sent on this channel
  std::uint64_t released = 0;      // of them, released by the receiver
  bool credit_known = true;        // the receiver of this channel has said what it still holds from before
  std::uint64_t short_of = UINT64_MAX;  // TCP: `released` when a record found no credit,
  std::int64_t short_since = 0;         // and since when, ns
  Carried carried;
  std::map<MessageName, SendOperation*> synchronous;  // waiting for `matched`
  std::map<MessageName, SendOperation*> rendezvous;   // protocol none: waiting for clear_to_send
  std::uint64_t log_done = 0;      // TCP: what the receiver has told, as segment::Inbound::log_done
  bool stream_released = false;    // unprotected receivers: the log stream was given back
  std::set<MessageName> early_matched;  // replay: acknowledged before the program has sent it again
};

// A logged frame that came by TCP while its peer's log is still being read.
struct WaitingFrame {
  wire::FrameHeader header;
  std::vector<std::byte> payload;
};

// A payload that is compared and thrown away.
struct PayloadAgain {
  wire::FrameHeader header;
  std::vector<std::byte> bytes;
};

struct Incoming {
  bool open = false;               // the peer's channel to this incarnation is attached
  std::uint64_t opening = 0;       // its Opening::position
  rail::shm::RingReader ring;
  bool feeding = false;            // records are taken from logs until the channel takes over
  bool feeds_more = false;         // the log has more that was not looked at yet
  bool behind = false;             // TCP, feeding: its log is looked at although the channel is open, for it brings nothing
  Incarnation fed{};               // the incarnation whose log stream is being taken
  std::uint64_t cursor = 0;        // position in that stream: all before it has been taken
  std::optional<segment::LogReader> reader;
  std::uint64_t held_bytes = 0;    // eager payload held unexpected
  std::uint64_t held_log_bytes = 0;  // of them, taken from logs: no channel's credit
  std::uint64_t released = 0;      // eager payload bytes released on this channel
  std::uint64_t released_told = 0; // TCP: as of the last credit frame
  std::uint64_t log_references = 0;  // messages whose payload is still in its log
  std::uint64_t log_done = 0;      // TCP: as of the last credit frame
  Reached reached;                 // when it was last known
  std::deque<WaitingFrame> waiting;   // TCP, while feeding
  std::uint64_t question = 0;         // TCP: the open question to the agent; 0: none
  bool asked_when_ended = false;      // TCP: the incarnation fed was known to have ended when the question was asked
  std::int64_t ask_again_at = 0;      // TCP: ns; 0: at once
  bool exhausted = false;             // TCP: all of the last known incarnation, which has ended, has been taken
  bool past_taken = false;            // TCP: its log has been taken to the end once, or its channel went on from there
  bool fenced = false;                // TCP: it is hosted elsewhere, and what this channel still brings is not taken
  bool silent = false;                // TCP: asked for a payload, and nothing has come since for long: its log is read instead
  std::map<MessageName, Message*> receiving;  // matched, payload under way
  Following following;                        // TCP: announced last with pieces behind it
  std::map<MessageName, Message*> unlogged;   // announced and perhaps in no log: then lost with the sender, which sends it again
  std::map<MessageName, PayloadAgain> again;  // known, announced once more, and asked for to be compared
  std::uint64_t again_bytes = 0;              // of them all
  os::ProcessMemory memory;                   // of its newest incarnation
  bool memory_refused = false;
  bool reading = false;                       // Inbound::reading is set
  std::uint64_t joint_offers = 0;             // made to all its incarnations
  std::vector<Message*> gathered;             // matched, their senders' buffers to be read in one call while a frame is handled
  // Protocol optimist: what messages depend on that the program has not seen yet, and how many have been taken.
  core::vprotocol::IncomingDependencies depends;
  std::uint64_t taken = 0;
  bool asks_how_far = false;       // TCP: it is to be told once this rank is level with its predecessors
  bool told_level = false;         // and was
  std::uint64_t told_awaited = 0;  // how many of its messages this rank needs, as it was told last
  std::uint32_t refused_below = 0;            // nothing is taken of incarnations below: it depends on what is lost
  bool is_refused() const { return fed.value < refused_below; }
  std::uint32_t begun_again = 0;              // how often its logs were begun from the start
  std::uint64_t awaiting_log = 0;             // messages in `unlogged` whose sender had not finished logging them when they were wanted
};

struct Peer {
  Rank rank{};
  bool local = true;   // came to this rank's agent together with this rank: so for as long as either lives there
  NodeId agent{};      // that keeps its logs
  Incarnation log_base{};  // the first of them
  Incarnation incarnation{};  // newest known
  wire::RankState state = wire::RankState::absent;
  std::uint64_t address_and_port = 0;
  // What was told of where logs are served. The board's words are not read together: a later reading puts right what was not `agent`'s.
  NodeId log_agent{-1};
  std::uint64_t log_address_and_port = 0;
  bool looked_up = false;  // TCP: its addresses have been asked for
  os::UniqueFd doorbell;
  std::map<Incarnation, std::unique_ptr<PeerLog>> logs;
  PeerLog* newest_log = nullptr;  // of `incarnation`, once mapped; local peers only
  Outgoing out;
  Incoming in;
  unsigned connections = 0;   // TCP: opened so far
  std::uint64_t closed_sent = 0, closed_taken = 0;  // messages to and from it in contexts that are closed
  std::int64_t lost_since = 0;  // protocol none: its connection broke at this time (ns); 0: it did not
  std::string lost_reason;
  bool cut_off = false;       // fault injection: nothing comes from its node or goes there
  bool unprotected = false;   // no log is kept for it any more (design rule 6)
  std::uint64_t dependencies_said = 0;  // protocol optimist: changes of the own vector
  bool running() const { return state == wire::RankState::running; }
};

}  // namespace hf::engine
