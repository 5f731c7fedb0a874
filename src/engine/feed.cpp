// Feeding from logs: what a peer sent before its channel to this incarnation begins is taken from its log, whether it
// computes, is dead, or has finished (design section 6.3).
#include <fmt/format.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

// In one look: what comes before it is wanted lies in memory, and a long log would fill that.
constexpr unsigned records_at_once = 256;

}  // namespace

PeerLog* EngineImpl::log_of(Peer& of, Incarnation wanted) {
  auto& log = of.logs[wanted];
  if (!log) log = std::make_unique<PeerLog>(*agent, of.rank, wanted);
  if (log->is_open()) return log.get();
  if (std::exchange(log->asked_at, board_epoch_ + 1) == board_epoch_ + 1) return nullptr;  // nothing has changed since
  return log->open() ? log.get() : nullptr;
}

PeerLog* EngineImpl::newest_log(Peer& of) {
  if (!of.newest_log) of.newest_log = log_of(of, of.incarnation);
  return of.newest_log;
}

// The record that a rendezvous request of a peer on this node announces.
PeerLog* EngineImpl::sender_log(Peer& from, const FrameHeader& header, segment::Record& record) {
  if (!from.local || !(header.flags & wire::flag_logged)) return nullptr;
  PeerLog* log = log_of(from, Incarnation{header.incarnation});
  if (!log) return nullptr;
  segment::LogReader reader = log->reader(job.self.value);
  auto chunk = static_cast<segment::ChunkId>(header.offset);
  return reader.at(StreamPosition{header.position}, chunk, record) ? log : nullptr;
}

void EngineImpl::feed(Peer& from) {
  while (feed_incarnation(from)) {
  }
}

bool EngineImpl::take_logged_dependencies(Peer& from, PeerLog& log, const segment::Record& record) {
  std::vector<std::byte> list(std::min(record.header.length, wire::dependencies_bytes_max));
  const bool whole = optimist_ && record.header.length == list.size() && log.reader(job.self.value).copy(record, 0, list);
  if (!whole) abort(1, "a damaged record in the log of a peer");
  return take_dependencies(from, from.in.fed, list);
}

// What this rank needs of a peer is not to be read.
void EngineImpl::end_for_log(const Peer& of, bool dropped) {
  if (!dropped) abort(1, fmt::format("a damaged record in the log of rank {}", of.rank.value));
  abort(1, fmt::format("rank {} has dropped from its log what this rank needs to begin anew: only a checkpoint has that", of.rank.value));
}

// Takes what the incarnation being fed has published. True when it is finished and the next one's turn has come.
bool EngineImpl::feed_incarnation(Peer& from) {
  Incoming& in = from.in;
  in.feeds_more = false;
  if (in.is_refused()) return false;
  bool is_final = from.incarnation > in.fed;
  PeerLog* log = log_of(from, in.fed);
  if (!log && is_final && from.logs[in.fed]->open()) log = from.logs[in.fed].get();
  if (!log) {
    if (!is_final) return false;
    ++in.fed;  // died before it had a log, and never will have one
    in.cursor = 0;
    in.reader.reset();
    return true;
  }
  // It stays where it stood, since the way there from the beginning is as long as the log; what came over the channel meanwhile is behind it.
  if (!in.reader && in.cursor < log->reader(job.self.value).published()) in.reader.emplace(log->reader(job.self.value));
  if (in.reader) in.reader->advance_to(StreamPosition{in.cursor});
  segment::Record record;
  const std::uint32_t begun = in.begun_again;
  for (unsigned taken = 0; in.reader; ++taken) {
    in.feeds_more = taken == records_at_once && !in.reader->at_end();
    if (in.feeds_more) return false;
    if (!in.reader->next(record)) break;
    if (record.header.kind == FrameKind::dependencies && !take_logged_dependencies(from, *log, record)) {
      in.reader.reset();  // it is read again from here
      return false;
    }
    in.cursor = in.reader->position();
    if (record.header.kind == FrameKind::dependencies) continue;
    if (record.header.kind == FrameKind::matched) on_matched(from, name_of(record.header));
    else accept(from, record.header, {}, &record, log);
    if (in.is_refused() || in.begun_again != begun) return false;  // a cut was seen meanwhile
  }
  if (in.reader && in.reader->damaged()) end_for_log(from, in.reader->dropped(in.cursor));
  if (is_final) {
    ++in.fed;
    in.cursor = 0;
    in.reader.reset();
    return true;
  }
  if (in.open && in.cursor >= in.opening) in.feeding = false;
  return false;
}

}  // namespace hf::engine
