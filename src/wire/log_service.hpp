// What a rank and the agent of another node say about the logs of that node's ranks, after the greeting of
// rail/tcp/handshake.hpp with purpose `log`. docs/log_service.md has the page.
//
// Every message is a LogMessage and `body_bytes` of body. The rank asks, the agent answers each question once, in any
// order; `id` is the rank's and comes back with the answer.
#pragma once
#include <cstdint>

#include "wire/frame.hpp"

namespace hf::wire {

enum class LogMessageKind : std::uint32_t {
  read = 1,  // rank -> agent: ReadRequest
  fetch,     // rank -> agent: FetchRequest
  records,   // agent -> rank: RecordsAnswer, then record_count times (RecordEntry, its payload_bytes)
  bytes,     // agent -> rank: BytesAnswer, then the bytes
};

struct LogMessage {
  LogMessageKind kind{};
  std::uint32_t body_bytes = 0;
  std::uint64_t id = 0;
};
static_assert(sizeof(LogMessage) == 16);

// Of the body of any answer.
inline constexpr std::uint32_t log_answer_bytes_max = 256 << 10;

// Asks for the records of a log stream from a position on: as many as fit.
struct ReadRequest {
  std::int32_t source = 0;
  std::uint32_t incarnation = 0;     // of the source
  std::int32_t destination = 0;      // the stream
  std::uint32_t answer_bytes = 0;    // of the answer's body; at least one record is given if there is one
  std::uint64_t position = 0;        // of a record, or the end
  std::uint64_t payload_bytes = 0;   // of all payloads in the answer; a payload that does not fit is left out
  std::uint32_t wait_ms = 0;         // when there is nothing new: how long to wait for it, at most log_wait_ms_max
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ReadRequest) == 40);
inline constexpr std::uint32_t log_wait_ms_max = 10'000;

// Asks for payload bytes of one record.
struct FetchRequest {
  std::int32_t source = 0;
  std::uint32_t incarnation = 0;
  std::int32_t destination = 0;
  std::uint32_t chunk = 0;       // where the record's header stands: RecordEntry::chunk
  std::uint64_t position = 0;    // of the record
  std::uint64_t offset = 0;      // of the first byte wanted, in the payload
  std::uint32_t length = 0;      // at most log_fetch_bytes_max
  std::uint32_t reserved = 0;
};
static_assert(sizeof(FetchRequest) == 40);

enum LogAnswerFlags : std::uint32_t {
  log_final = 1,    // the incarnation is dead or finished: nothing is published beyond `published` any more
  log_absent = 2,   // there is no such incarnation on this node (yet), or the record asked for is not published (yet)
  log_damaged = 4,  // the log holds something there that is not a record, or not the one asked for
  log_dropped = 8,  // with log_damaged: it is kept no more, a checkpoint of the destination covers it
};
inline constexpr std::uint32_t log_answer_flags = log_final | log_absent | log_damaged | log_dropped;

struct RecordsAnswer {
  std::uint64_t next = 0;       // position behind the last record given
  std::uint64_t published = 0;  // end of the stream; what is not stable yet is not given, and comes when asked for again
  std::uint32_t flags = 0;
  std::uint32_t record_count = 0;
};
static_assert(sizeof(RecordsAnswer) == 24);

struct RecordEntry {
  FrameHeader header;
  std::uint32_t chunk = 0;
  std::uint32_t payload_bytes = 0;  // that follow: all of the payload, or 0 when it is left out
};
static_assert(sizeof(RecordEntry) == 64);

struct BytesAnswer {
  std::uint64_t offset = 0;
  std::uint32_t flags = 0;
  std::uint32_t length = 0;  // 0 when flags says why there are none
};
static_assert(sizeof(BytesAnswer) == 16);
inline constexpr std::uint32_t log_fetch_bytes_max = log_answer_bytes_max - sizeof(BytesAnswer);

}  // namespace hf::wire
