// What a rank and its agent say to each other: SOCK_SEQPACKET datagrams on an abstract Unix socket whose name the agent
// puts into HOLDFAST_AGENT. Every datagram is a `BootstrapKind` (u32) followed by the plain struct of that kind; file
// descriptors travel as SCM_RIGHTS in the order stated. docs/bootstrap.md has the grammar and an example.
//
// Order: rank sends hello; agent answers welcome (or refused). Then the rank may ask at any time, one question at a
// time; each is answered by exactly one datagram of the kind stated. Questions without an answer are marked "tells".
#pragma once
#include <cstddef>
#include <cstdint>

#include "wire/collective_rule.hpp"

namespace hf::wire {

inline constexpr std::uint32_t bootstrap_version = 15;
inline constexpr std::uint32_t collective_rules_max = 1024;  // that a user may give: with what is built in they travel in one datagram
inline constexpr const char* env_agent = "HOLDFAST_AGENT";  // abstract socket name, without the leading NUL
inline constexpr const char* env_rank = "HOLDFAST_RANK";    // job-wide rank, decimal
inline constexpr const char* env_job_started = "HOLDFAST_JOB_STARTED";  // Welcome::job_started_ns, for MPI_Wtime before MPI_Init

enum class BootstrapKind : std::uint32_t {
  hello = 1,        // rank -> agent: Hello
  welcome,          // agent -> rank: Welcome, then `rank_count` RankEntry (node of each rank
                    //   in the original map), then `rule_count` CollectiveRule. fds:
                    //   board (read-only), own control segment, own doorbell (eventfd)
  refused,          // agent -> rank: text (one line); the rank prints it and exits 1
  get_segment,      // rank -> agent: SegmentName; answered by segment (fds: one, read-only), or by absent
  segment,          // agent -> rank: SegmentInfo
  absent,           // agent -> rank: empty: no such segment (never made, or the rank is on another node)
  get_doorbell,     // rank -> agent: RankName; answered by doorbell (fds: eventfd), or by absent
  doorbell,         // agent -> rank: empty
  new_log_segment,  // rank -> agent: empty; answered by segment (fds: one, read-write, all zero) for the next log
                    //   segment of this incarnation, or by exhausted
  exhausted,        // agent -> rank: Exhausted: neither memory nor disk is left for logs
  listening,        // rank tells agent: Listening; the agent publishes the port on every node's board
  initialized,      // rank tells agent: Initialized: MPI_Init or MPI_Session_init has joined; again after `finalized`, and by MPI_Init
  finalized,        // rank tells agent: empty: MPI_Finalize, or the last session's, is about to return: exit code 0 is a clean end
  abort_job,        // rank tells agent: AbortJob, then text: MPI_Abort or a fatal error handler; the agent ends the job
  diverged,         // rank tells agent: Diverged, then text: the replay differs from the log
  caught_up,        // rank tells agent: CaughtUp: the last determinant was consumed
  unprotect,        // rank tells agent: Unprotect, then text: the job declares that rank unprotected (design rule 6):
                    //   board_unprotected on every node's board, one line for the user, its death ends the job
  look_up,          // rank tells agent: RankName: of another node, to be reached: the board will say where, and rings when it does
  forget,           // rank tells agent: RankName: of the ended incarnations' logs for that (unprotected) rank nothing is
                    //   needed any more; their memory may be given back
  determined,       // rank tells agent: empty: events were written that the holder has not been given yet (level `node`)
  note,             // rank tells agent: text, printed once by the launcher on stderr as "holdfast: rank R: text"
  get_past,         // a rank's recorder -> agent, on a connection of its own: PastName (wire/recorder.hpp); answered by past, absent or refused
  past,             // agent -> recorder: PastInfo (fds: one, read-only)
  orphaned,         // rank tells agent: empty: it depends on what the board says is lost: it goes no further, and is to be rolled back
};

struct Hello {
  std::uint32_t version = bootstrap_version;
  std::int32_t rank = 0;
};

// What a determinant must survive before a frame that depends on it may leave (design section 5).
enum class LogLevel : std::uint32_t { process = 0, node = 1, disk = 2, node_disk = node | disk };
constexpr bool includes(LogLevel level, LogLevel one) { return (static_cast<std::uint32_t>(level) & static_cast<std::uint32_t>(one)) != 0; }

enum class Protocol : std::uint32_t { none = 0, pessimist = 1, optimist = 2 };

struct Welcome {
  std::uint32_t version = bootstrap_version;
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::int32_t rank_count = 0;
  std::int32_t node = 0;                // in the job's original map
  std::int32_t node_count = 0;
  std::int32_t agent = 0;               // that hosts the rank now
  std::int32_t agent_count = 0;         // with the spare ones
  std::uint32_t address = 0;            // where the rank listens: IPv4, network byte order
  LogLevel log_level = LogLevel::process;
  std::int32_t app_number = 0;          // MPI_APPNUM: which of the programs separated by ':'
  Protocol protocol = Protocol::pessimist;
  std::uint32_t keeps_payloads = 1;     // 0: no sender log, for measurements: determinants alone, and nothing is recovered
  std::uint32_t divergence_is_fatal = 1;
  std::uint32_t covers = 0;
  std::uint32_t orders_threads = 0;     // at every level of thread support, as otherwise at MPI_THREAD_SERIALIZED alone
  std::int32_t machine_index = 0;       // of this rank among those of this machine
  std::int32_t machine_ranks = 1;
  std::int32_t machine_cores = 1;       // that ranks may use which nobody bound
  std::uint32_t says_unrecorded = 0;    // if it has no recorder, though one was preloaded, which is said once a program
  bool oversubscribed() const { return machine_ranks > machine_cores; }  // waiting yields instead of spinning
  std::int64_t job_started_ns = 0;      // of the real-time clock, at the head
  std::uint64_t kill_at_call = 0;       // fault injection: SIGKILL oneself at this MPI call (0: never). First incarnation only
  // Fault injection: at each so many MPI calls (0: never) what receivers' checkpoints cover is dropped, and `covers` as if one of this rank had been taken.
  std::uint64_t drops_every_calls = 0;
  std::uint64_t log_ready_bytes = 0;    // of the log, to be mapped and touched before the program goes on
  std::uint64_t log_segment_bytes = 0;  // size of each log segment
  std::uint64_t eager_bytes = 0;        // between nodes, a payload up to this may come with its envelope
  std::uint64_t announced_above_bytes = 0;  // between nodes, this rank announces a larger payload than this: at most eager_bytes
  std::uint64_t eager_credit_bytes = 0; // what a receiver holds at most, unexpected, from one peer
  // Inside a node a payload of this size or more, too large for a frame of the ring, is read by the receiver out of the sender's
  // buffer; a smaller one is copied, through the ring (none) or the log (pessimist).
  std::uint64_t direct_from_bytes = 0;
  std::uint32_t rule_count = 0;         // for collectives, all that count in this job; at most twice collective_rules_max
  std::uint8_t job_key[32] = {};        // authenticates TCP connections of this job
  char node_name[256] = {};             // of `node`, NUL-terminated: MPI_Get_processor_name
  char inject[256] = {};                // a named injection point, NUL-terminated, empty: none ("NAME:N": kill oneself at the n-th pass)
};

struct RankEntry {
  std::int32_t node = 0;   // in the original map
  std::int32_t agent = 0;  // that hosts it now
  std::int32_t group = 0;  // of ranks that came there together: they share memory, as long as they live there
};

struct RankName {
  std::int32_t rank = 0;
};

// Why a rank is unprotected: log_full: the logs of the rank that tells are full, it gives up those for the named one;
// threads: a second thread of the rank that tells, which is the named one, has called MPI, in the function that the text names.
enum class UnprotectReason : std::uint32_t { log_full = 0, threads = 1 };
struct Unprotect {
  std::int32_t rank = 0;
  UnprotectReason reason = UnprotectReason::log_full;
};

enum class SegmentKind : std::uint32_t { control = 0, log = 1 };
struct SegmentName {
  std::int32_t rank = 0;
  std::uint32_t incarnation = 0;
  SegmentKind kind = SegmentKind::control;
  std::uint32_t index = 0;  // log segments: 0, 1, ...; control: 0
};
struct SegmentInfo {
  std::uint64_t bytes = 0;
  std::uint32_t index = 0;
  std::uint32_t on_disk = 0;
};
struct Exhausted {
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t disk_limit_bytes = 0;
};
struct Listening {
  std::uint32_t address = 0;  // IPv4, network byte order
  std::uint16_t port = 0;     // host byte order
  std::uint16_t reserved = 0;
};
struct Initialized {
  std::uint32_t world = 0;  // MPI_Init: every rank of the job will
};
struct AbortJob {
  std::int32_t exit_code = 1;
};
struct Diverged {
  std::uint32_t fatal = 1;
  std::int32_t peer = -1;  // not this rank, but that one sends something else than before, as this one sees
  std::uint64_t call = 0;  // of this rank
};
struct CaughtUp {
  std::uint64_t call = 0;               // MPI calls replayed
  std::uint64_t messages_replayed = 0;  // receives served from logs
  std::uint64_t sends_suppressed = 0;   // sends found in the predecessor's log
  std::uint64_t determinants = 0;       // consumed
};

// The board: one shared mapping a node, written by its agent alone, read by the ranks of the node. `epoch` is raised
// after every change (release), and the doorbell of each local rank is rung.
enum class RankState : std::uint32_t { absent = 0, running = 1, dead = 2, finished = 3 };
inline constexpr std::uint64_t board_unprotected = 0x80;  // or-ed to the state: nobody keeps a log for this rank any more
inline constexpr std::uint64_t board_state_mask = 0x7f;
struct alignas(64) BoardEntry {
  // state and incarnation in one word so that they are read together: incarnation << 8 | flags | RankState
  std::uint64_t incarnation_and_state = 0;
  std::uint64_t address_and_port = 0;  // address << 16 | port of that incarnation, 0 while unknown: ranks of other nodes are looked up
  // Where its logs are: written before the first incarnation there.
  std::uint64_t log_address_and_port = 0;  // of the agent, 0 while unknown
  std::uint64_t agent_and_log_base = 0;    // number of the agent << 32 | first incarnation whose log it keeps
  // Ranks of this node, level `node`: how far the holder has its events (docs/node-loss.md).
  std::uint64_t stable_events = 0;  // bytes, over all incarnations
  std::uint64_t stable_failed = 0;  // clock of the last completion test that is known there to have found nothing
  // A rank of this node: the term of its hosting. Another: no events of lower terms are taken (the holder's part, docs/node-loss.md).
  std::uint64_t events_term = 0;
  std::uint64_t cut_off = 0;        // fault injection, 1: no byte passes between this node and the one that hosts it
};
static_assert(sizeof(BoardEntry) == 64);
struct BoardHeader {
  std::uint64_t magic = 0x4846424f41524431;  // "HFBOARD1"
  std::uint64_t epoch = 0;
  std::uint32_t rank_count = 0;
  std::uint32_t reserved = 0;
  // Level `node`: agent + 1 whose ranks may be given events of this node's ranks instead of it; 0: none, now.
  std::uint64_t events_holder = 0;
  // Protocol optimist: how many cuts there are, of all ranks; raised after any rank's `stable`.
  std::uint64_t cut_total = 0, stable_news = 0;
  // BoardEntry[rank_count] follows at offset 64, then BoardDependencies[rank_count]
};
inline constexpr std::uint64_t board_entries_offset = 64;

// Protocol optimist, one for each rank behind the entries (docs/optimist.md): which of its events are stable, and what was lost of them.
// A word names a position of its event stream under a term: term << 48 | position.
inline constexpr int board_position_bits = 48;
inline constexpr std::uint64_t board_position_max = (std::uint64_t{1} << board_position_bits) - 1;
inline constexpr std::size_t board_cuts_max = 16;
struct alignas(64) BoardDependencies {
  std::uint64_t stable = 0;
  std::uint64_t cut_count = 0;  // raised after the cut was written
  std::uint64_t cuts[board_cuts_max] = {};  // of a term: where it began
  std::uint64_t looked_at = 0;  // a rank of this node: not 0 while the agent looks every millisecond at what it determines, unasked
};
static_assert(sizeof(BoardDependencies) == 192);
constexpr std::uint64_t board_position(std::uint32_t term, std::uint64_t position) {
  return std::uint64_t{term} << board_position_bits | position;
}
constexpr std::uint64_t board_dependencies_offset(int rank_count) {
  return board_entries_offset + static_cast<std::uint64_t>(rank_count) * sizeof(BoardEntry);
}
constexpr std::uint64_t board_bytes(int rank_count) {
  return board_dependencies_offset(rank_count) + static_cast<std::uint64_t>(rank_count) * sizeof(BoardDependencies);
}

}  // namespace hf::wire
