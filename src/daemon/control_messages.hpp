// What the head and its agents, and agents among each other, say: over one TCP connection a pair, frames of a length (u32, of what
// follows), a ControlKind (u32) and the struct of that kind, some followed by text or bytes to the end of the frame.
// docs/bootstrap.md has the page. Both ends are the same program: the structs are plain copies of memory.
#pragma once
#include <array>
#include <cstdint>

#include "core/event_logger/places.hpp"
#include "core/membership/options.hpp"
#include "core/tree/options.hpp"
#include "segment/control.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

enum class ControlKind : std::uint32_t {
  // Opening: each proves that it has the job's key by authenticating both nonces.
  challenge = 1,  // visited -> visitor: Challenge
  answer,         // visitor -> visited: Answer
  confirm,        // visited -> visitor: Confirm
  // On the connection with which an agent joins its head:
  home,    // agent -> head: Address of its door
  place,   // head -> agent: Place, then its AgentAddress: all agents have joined
  linked,  // agent -> head: it has a connection to its parent, which is not the head; this one ends
  lost,    // head -> agent: it was declared lost: it ends, with its ranks
  // Between neighbours in the tree of agents:
  tree,  // a frame of wire/tree.hpp. Its messages are a ControlKind and what follows it, of those below
  head_lost,  // parent -> child: outside of the tree's streams, which have ended
  where,    // agent -> head: NodeId: which it cannot reach yet
  address,  // head -> agent: AgentAddress
  // head -> agent
  job,    // Job (job.hpp)
  start,  // u16 of every agent: the lowest number of an agent on the same machine. The agent starts its ranks
  board,  // BoardChange of a rank elsewhere: news for all, or for those who looked it up
  input,  // bytes for rank 0's stdin
  input_end,
  output_taken,  // OutputTaken: so many bytes of output left the job
  kill_rank,     // RankOnly: fault injection
  pass_signal,   // PassSignal: the user's, for the ranks that catch it
  mpi_job,       // some rank has called MPI_Init: a rank killed before its own call is started again
  end_job,       // EndJob
  leave,         // all agents have nothing left: they end
  // agent -> head
  // To a head that goes on for a lost one, first of all:
  report,       // AgentReport (agent_report.hpp)
  output_again, // OutputAgain, then bytes: what follows it continues them
  reported,     // after its events so far, once more: that was all
  ready,        // Ready, then text: why this node is of no use; empty: the job is understood, the log port is open
  look_up,      // RankOnly: of another node; answered by `board`, and by another for each change
  output,       // OutputHead, then bytes that a rank wrote
  input_taken,  // OutputTaken: so many bytes of stdin were passed to rank 0
  event,        // Event, then text
  gone,         // all processes of the agent have ended
  held,         // Held: the holder has all events that this agent ever told to be stable
  holder_lost,  // Held, then text: there is no connection to the holder of that generation
  adopted,      // Adopted: the ranks of that `adopt` have been started
  adopt_failed, // text: why they cannot be
  disk_failed,  // text: determinants cannot be kept in files any more, and why
  adopt_unfit,  // Adopted, then text: why this node cannot take them; another may
  // Protocol optimist (docs/optimist.md):
  begun,        // EventsCut: the hosting of a rank that this agent takes over, which is about to start
  orphan,       // Orphan: a rank here depends on what is lost; its processes are ended. Answered by roll_back
  // head -> agent
  holder,  // Holder: where the agent's ranks' events are kept from now on
  adopt,   // Adopt, then its AdoptedRank, then the AgentAddress of those that may have their events: ranks of a lost agent
  strike,  // Strike: fault injection
  hold_events,  // HoldEvents: fault injection
  disk_fault,   // DiskFault: fault injection
  cut,     // Cut, then u16 of every agent: fault injection
  forget_events,  // ForgetEvents: its holders are others
  settled,        // RankOnly: all holders have what its hosting here found, and whoever takes it over will ask them
  events_cut,     // EventsCut: news for all, before anything of that hosting
  roll_back,      // RollBack
  // Between agents, docs/node-loss.md. The connecting one, who has the ranks:
  events_append,  // EventsAppend, then bytes
  events_open,    // EventsName
  events_cuts,    // EventsName: a hosting here, then Cuts::encode of its rank. Before its first append on a connection; protocol optimist
  // In both directions, protocol optimist: events_known, EventsKnown of several ranks: what is stable, as far as it was not told yet.
  // Of none: who appends nothing wants to be told too
  events_known,
  // and the holder:
  events_stable,   // EventsStable of several ranks: the stable vector
  events_content,  // EventsContent, then bytes; several in a row
  events_refused,  // EventsName: there is a newer term
  events_full,     // no room for more
  // Somebody watches the job (watch/job_watch.hpp):
  ask_sample,  // head -> agent, about once a second
  sample,      // agent -> head: SampleHead, then RankSample of each of its ranks that has joined
};

struct SampleHead {
  std::int64_t time_ns = 0;  // of the agent's monotonic clock
};
// What stands in the control segment of a rank's newest incarnation, and how large the logs of all of them are.
struct RankSample {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t call = 0;     // number of the MPI call last begun
  std::uint64_t waiting = 0;  // segment/waiting.hpp, by the clock of SampleHead
  std::uint64_t log_memory_bytes = 0, log_disk_bytes = 0;
  segment::Counters counters{};
};

struct Address {
  std::uint32_t address = 0;  // IPv4, network byte order
  std::uint16_t port = 0;     // host byte order
  std::uint16_t reserved = 0;
};
struct Strike {
  std::int64_t pause_ns = 0;  // 0: SIGKILL to the agent and its ranks; else both are stopped for so long
};
struct HoldEvents {
  std::int64_t for_ns = 0;  // what the agent's ranks determine is given to no other agent
};
struct DiskFault {
  std::int64_t for_ns = 0;  // the disk of its event file stands still for so long; 0: it is full from now on
};
// For this time no byte passes between agents with different numbers behind it; the head's is 0.
struct Cut {
  std::int64_t for_ns = 0;
};
// A partition is in force so long after it was said: all have heard of it by then.
inline constexpr std::int64_t cut_delay_ns = 30'000'000;
// From then on: it heals when it was to, counted from when it was said.
constexpr std::int64_t cut_lasts_ns(std::int64_t for_ns) { return for_ns > cut_delay_ns ? for_ns - cut_delay_ns : 0; }

struct Held {
  std::uint32_t generation = 0;
  std::uint32_t full = 0;  // holder_lost: 1: its memory for events is full
};
struct Holder {
  std::int32_t agent = -1;  // -1: no other agent is left
  std::uint32_t generation = 0;
  std::int32_t standby = -1;  // would be the next: a connection to it is kept. Optimist, without a holder: who tells what is stable
  std::int32_t copy = 0;      // which of --event-copies
  Address agent_at, standby_at;
};
struct Adopt {
  std::int32_t rank_count = 0;
  std::int32_t place_count = 0;
  std::uint32_t job_is_mpi = 0;
  std::int32_t group = 0;         // of these ranks, from now on
  std::uint64_t input_taken = 0;  // bytes of stdin that rank 0 was given before
};
struct Adopted {
  std::int32_t group = 0;
};
struct AdoptedRank {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;  // the first to be started
  std::uint32_t term = 0;
  // core/event_logger/found.hpp, Told
  std::uint32_t told_first = 0, told_next = 0;
  std::uint32_t place_lost = 0;
  std::uint32_t present_count = 0;
  std::array<std::uint32_t, core::event_logger::copies_max> present{};
};
struct EventsName {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
};
// What hostings before this term gave, and that one before it had this generation.
struct ForgetEvents {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint32_t generation = 0;
};
struct EventsAppend {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint32_t generation = 0;  // in which the receiver is the holder
  std::uint32_t reserved = 0;
  std::uint64_t position = 0, promised = 0, promised_failed = 0, last_failed = 0;
};
struct EventsStable {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint64_t end = 0, last_failed = 0;
};
// A hosting begins with the rank's events up to that position; what others of lower terms had behind it is lost.
struct EventsCut {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint64_t position = 0;
};
struct EventsKnown {
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint64_t position = 0;
};
struct Orphan {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;  // the newest
  std::uint32_t term = 0;         // of the hosting
  std::uint32_t reserved = 0;
  std::uint64_t position = 0;     // of the first lost dependency
};
struct RollBack {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;  // to be started
  std::uint32_t term = 0;
};
struct EventsContent {
  std::int32_t rank = 0;
  std::uint32_t term = 0;       // as asked
  std::uint32_t held_term = 0;  // of the hosting that appended last
  std::uint32_t known = 0;      // 0: nothing was ever appended here
  std::uint32_t generation = 0; // of that hosting's last append; 0: none
  std::uint32_t reserved = 0;
  std::uint64_t promised = 0, promised_failed = 0, last_failed = 0, offset = 0, total = 0;
};

// What a connection is for. Who proves itself for one cannot be taken for another.
enum class Purpose : std::uint32_t { join = 0, tree, events };
struct AgentAddress {
  std::int32_t node = 0;
  Address at;
};
// What all agents of a job must have alike.
struct TreeSettings {
  std::int32_t agents = 1;
  std::uint32_t epoch = 0;  // number of the head: with each one the tree begins anew
  core::tree::TreeOptions tree;
  core::membership::MembershipOptions membership;
};
struct Place {
  TreeSettings settings;
  std::uint32_t address_count = 0;  // of those above it in the tree, but for the head
  std::uint32_t reserved = 0;
};

struct Challenge {
  std::uint8_t nonce[32] = {};
};
struct Answer {
  std::int32_t node = 0;  // the visitor; -1: the head
  Purpose purpose{};
  std::int64_t time_ns = 0;  // of the visitor's monotonic clock
  std::uint32_t epoch = 0;   // tree: of the visitor's (TreeSettings)
  std::uint32_t reserved = 0;
  std::uint8_t nonce[32] = {};
  std::uint8_t proof[32] = {};
};
struct Confirm {
  std::uint8_t proof[32] = {};
};
struct BoardChange {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  wire::RankState state{};
  std::uint32_t address = 0;
  std::uint16_t port = 0;         // 0: not known
  std::uint16_t unprotected = 0;  // 1: only this news: nobody keeps a log for the rank any more
  std::int32_t agent = -1;        // that hosts the rank
  std::uint32_t log_base = 0;     // the first incarnation whose log it keeps
  Address logs;                   // where that agent serves them
  std::int32_t group = 0;         // wire::RankEntry::group
};
enum class OutputStream : std::uint32_t { out = 0, error = 1 };
struct OutputHead {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  OutputStream stream{};
};
struct OutputTaken {
  std::uint64_t bytes = 0;
};
// Where in the stream of the rank's present incarnation the bytes begin: OutputGate::Position.
struct OutputAgain {
  OutputHead head;
  std::uint32_t reserved = 0;
  std::uint64_t lines = 0, open_bytes = 0;
};
struct RankOnly {
  std::int32_t rank = 0;
};
struct PassSignal {
  std::int32_t signal = 0;
};
struct EndJob {
  std::uint32_t grace_ms = 0;  // SIGTERM first; 0: SIGKILL at once
};
struct Ready {
  Address logs;  // where it serves them
  char machine[40] = {};  // the same for agents on one machine
  // What was measured of large messages inside the node, 1 MiB: GB/s (message_ways.hpp). 0: nothing was.
  std::uint64_t direct_from = 0;
  double direct = 0, copied = 0;
  std::int32_t exit_code = 1;  // of the job, should this node be of no use and have ranks
  std::uint32_t reserved = 0;
};

inline constexpr std::uint64_t unknown_call = UINT64_MAX;  // its node was lost

// What happened to a rank, with the time of its agent's monotonic clock.
enum class EventKind : std::uint32_t {
  started,      // executed; a: process id
  joined,       // its process has called MPI_Init or MPI_Session_init
  initialized,  // MPI_Init has returned, or the first session's; a: 1: it is MPI_Init
  listening,    // a: address << 16 | port
  finalized,
  caught_up,  // a: calls, b: messages replayed, c: sends suppressed, d: determinants
  injected,   // a kill was carried out; a: signal
  died,       // will be started again; a: signal, b: MPI call, or unknown_call
  exited,     // cleanly, exit code 0
  failed,     // ends the job: a: exit code; text: one line
  note,       // text: one line; a: 1 when it is of the agent, not of the rank
  diverged,   // not fatal; text
  counters,   // of an incarnation that ended: Counters follow as text bytes
  exhausted,  // its log memory and disk are full; a, b: the limits
  unprotect,  // rank a is unprotected; b: wire::UnprotectReason; text: an MPI function, where the reason is threads
  rolled_back,  // an orphan, which will be started again; b: MPI call
};
struct Event {
  EventKind kind{};
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t reserved = 0;
  std::int64_t time_ns = 0;
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
};

}  // namespace hf::daemon
