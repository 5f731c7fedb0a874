// Reads the logs of ranks of other nodes, through the agents that keep them (daemon/log_service). Asynchronous: a
// question is answered once by poll(), however often the connection to the agent has to be opened again meanwhile.
// One connection a node, dialled with the first question. Owned and used by one thread; nothing blocks.
//
// Driving it: poll() until it gives false; then sleeping on descriptor() is safe. Nothing that an agent says is trusted:
// what is no proper answer is given as `damaged`.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "rail/tcp/handshake.hpp"
#include "segment/log_layout.hpp"
#include "wire/frame.hpp"
#include "wire/log_service.hpp"

namespace hf::engine {

// The stream of records from `source` to `destination` in the log of that incarnation of the source.
struct RemoteStream {
  NodeId node{};  // where the source runs
  Rank source{};
  Incarnation incarnation{};
  Rank destination{};
};

struct RemoteRecord {
  wire::FrameHeader header;    // header.position: where it stands
  segment::ChunkId chunk = 0;  // to be given back to fetch()
  Bytes payload;               // empty when omitted or when there is none
  bool omitted = false;        // it has a payload, which did not fit: fetch() it
};

struct RemoteAnswer {
  enum Kind {
    records,   // of read()
    bytes,     // of fetch(): a piece, in order; `last` with the last one
    stranger,  // what answers at an agent's address does not know the job's key: `reason` is a line for the user
  } kind{};
  std::uint64_t id = 0;      // of the question
  bool absent = false;       // no such incarnation there (yet), or no such record: ask again later, or never when it is final
  bool damaged = false;      // the log, or the answer, is not what it should be
  bool dropped = false;      // records: of damaged ones, that they are kept no more
  bool is_final = false;     // the incarnation is dead or finished: nothing is published any more
  // records
  std::uint64_t next = 0;       // position to go on from
  std::uint64_t published = 0;  // end of the stream when it was read
  std::span<const RemoteRecord> run;      // valid, as the payloads, until the next poll()
  // bytes
  std::uint64_t offset = 0;
  Bytes data;                   // valid until the next poll()
  bool last = false;
  std::string_view reason;      // valid until the next poll()
};

class RemoteLog {
 public:
  // `self`, `incarnation`: who asks.
  RemoteLog(Rank self, Incarnation incarnation, int rank_count, const rail::tcp::Key& job_key);
  ~RemoteLog();
  RemoteLog(const RemoteLog&) = delete;
  RemoteLog& operator=(const RemoteLog&) = delete;

  // Where the agent of a node serves logs: address in network, port in host byte order. Questions to it wait until this is known.
  void agent(NodeId node, std::uint32_t address, std::uint16_t port);

  // Fault injection: that agent is not dialled, asked or listened to until it is let go again.
  void hold(NodeId node, bool on);

  // Asks for records from `position` on: payloads of at most payload_bytes in all, others are omitted. With nothing
  // new the answer comes after at most wait_ms, empty. Gives the question's id.
  std::uint64_t read(const RemoteStream& stream, std::uint64_t position, std::uint64_t payload_bytes,
                     std::uint32_t wait_ms);
  // Asks for payload bytes [offset, offset + length) of the record at `position`; length > 0. Comes in several answers.
  std::uint64_t fetch(const RemoteStream& stream, std::uint64_t position, segment::ChunkId chunk, std::uint64_t offset,
                      std::uint64_t length);
  void cancel(std::uint64_t id);  // no answer comes any more
  bool idle() const;              // no question is open

  int descriptor() const;
  bool poll(RemoteAnswer& answer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hf::engine
