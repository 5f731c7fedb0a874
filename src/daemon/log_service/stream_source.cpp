#include "daemon/log_service/stream_source.hpp"

#include <algorithm>
#include <optional>

namespace hf::daemon {
namespace {
constexpr std::size_t readers_max = 4096;
}  // namespace

StreamSource::Log* StreamSource::log_of(std::int32_t source, std::uint32_t incarnation, std::int32_t destination) {
  if (source < 0 || source >= ranks_ || destination < 0 || destination >= ranks_) return nullptr;
  LogName name{Rank{source}, Incarnation{incarnation}};
  if (auto at = logs_.find(name); at != logs_.end()) return &at->second;
  Bytes control = provider_.control(Rank{source}, Incarnation{incarnation});
  if (control.size() < segment::control_bytes(ranks_)) return nullptr;
  segment::ControlView view(const_cast<std::byte*>(control.data()), ranks_);
  if (!view.valid(Rank{source}, Incarnation{incarnation})) return nullptr;  // not begun yet
  Log& log = logs_[name];
  log.provider = &provider_;
  log.rank = Rank{source};
  log.incarnation = Incarnation{incarnation};
  log.control = view;
  return &log;
}

segment::LogReader& StreamSource::reader_at(Log& log, std::int32_t destination, std::uint64_t position) {
  StreamName name{log.rank, log.incarnation, destination};
  auto at = readers_.find(name);
  if (at == readers_.end() || at->second.damaged() || at->second.position() > position) {
    if (at == readers_.end() && readers_.size() >= readers_max) readers_.erase(readers_.begin());
    segment::LogReader fresh(log, log.control.stream(destination), static_cast<std::uint32_t>(destination), ranks_);
    at = readers_.insert_or_assign(name, fresh).first;
  }
  at->second.seek(StreamPosition{position});
  return at->second;
}

// Where the heads of an answer end and the payload that follows them.
struct StreamSource::Collected {
  struct Span {
    std::size_t heads_end;
    std::size_t pieces_begin, pieces_end;
  };
  std::vector<Span> spans;
  std::vector<Bytes> payloads;
  std::size_t bytes = 0;
};

bool StreamSource::is_final(std::int32_t source, std::uint32_t incarnation) {
  return source >= 0 && source < ranks_ && provider_.is_final(Rank{source}, Incarnation{incarnation});
}

// How far the stream may be read: what left with its events is published before they are stable (docs/node-loss.md).
std::uint64_t StreamSource::readable(const Log& log, std::int32_t destination, std::uint64_t& tail) {
  const segment::StreamEntry& stream = log.control.stream(destination);
  tail = segment::load_acquire(stream.tail);
  const std::uint64_t needs = segment::load_acquire(stream.needs_events);
  const TestClock failed{segment::load_acquire(stream.needs_failed)};
  const std::uint64_t from = segment::load_acquire(stream.gated_from);
#ifndef HOLDFAST_MUTATE_READ_GATED
  if (from < tail && !provider_.make_stable(log.rank, needs, failed)) return from;
#endif
  return tail;
}

bool StreamSource::read(const wire::ReadRequest& request, AnswerBody& body) {
  body.heads.clear();
  body.pieces.clear();
  wire::RecordsAnswer answer{.next = request.position};
  // Before the stream's end is looked at: what is published afterwards by one who lives is no end.
  if (is_final(request.source, request.incarnation)) answer.flags |= wire::log_final;

  Collected found{.bytes = sizeof(answer)};
  body.heads.resize(sizeof(answer));
  if (Log* log = log_of(request.source, request.incarnation, request.destination)) {
    // Its end is no place to walk to: the stream may have been given back. Nor is what is beyond it: a message that was sent before
    // it was published stands there.
    const std::uint64_t readable = this->readable(*log, request.destination, answer.published);
    if (readable < answer.published) answer.flags &= ~wire::log_final;
    if (request.position < readable) collect(*log, request, readable, answer, body, found);
  } else {
    answer.flags |= wire::log_absent;
  }

  std::memcpy(body.heads.data(), &answer, sizeof(answer));
  std::size_t from = 0;
  for (const Collected::Span& span : found.spans) {
    if (span.pieces_begin == span.pieces_end) continue;  // its head goes with the next piece
    body.pieces.push_back(Bytes(body.heads).subspan(from, span.heads_end - from));
    from = span.heads_end;
    for (std::size_t i = span.pieces_begin; i < span.pieces_end; ++i) body.pieces.push_back(found.payloads[i]);
  }
  body.pieces.push_back(Bytes(body.heads).subspan(from));
  body.bytes = found.bytes;
  return answer.record_count > 0 || (answer.flags & (wire::log_final | wire::log_damaged));
}

void StreamSource::collect(Log& log, const wire::ReadRequest& request, std::uint64_t end, wire::RecordsAnswer& answer,
                           AnswerBody& body, Collected& found) {
  ByteWriter heads(body.heads);
  segment::LogReader& reader = reader_at(log, request.destination, request.position);
  std::size_t bytes_max = std::min<std::size_t>(request.answer_bytes, wire::log_answer_bytes_max);
  std::uint64_t payload_left = request.payload_bytes;
  // A position that is not a record's is the asker's mistake, or that of a damaged log.
  if (reader.position() != request.position && !reader.at_end()) answer.flags |= wire::log_damaged;
  segment::Record record;
  while (!(answer.flags & wire::log_damaged) && reader.position() < end) {
    if (answer.record_count > 0 && found.bytes + sizeof(wire::RecordEntry) > bytes_max) break;
    if (!reader.next(record)) break;
    std::uint64_t payload = wire::payload_in_log(record.header);
    std::size_t room = std::max(bytes_max, found.bytes + sizeof(wire::RecordEntry)) - found.bytes - sizeof(wire::RecordEntry);
    wire::RecordEntry entry{.header = record.header, .chunk = record.chunk};
    std::size_t before = found.payloads.size();
    // What the next messages depend on is never left out, and nobody's credit.
    const bool depends = record.header.kind == wire::FrameKind::dependencies;
    if (depends && payload > wire::dependencies_bytes_max) {
      answer.flags |= wire::log_damaged;
      break;
    }
    if (depends && payload > room && answer.record_count > 0) break;
    if (payload > 0 && (depends || payload <= payload_left) && payload <= room) {
      if (!reader.pieces(record, 0, payload, found.payloads)) {
        answer.flags |= wire::log_damaged;
        found.payloads.resize(before);
        break;
      }
      entry.payload_bytes = static_cast<std::uint32_t>(payload);
      if (!depends) payload_left -= payload;
    }
    heads.put(entry);
    found.spans.push_back({body.heads.size(), before, found.payloads.size()});
    found.bytes += sizeof(entry) + entry.payload_bytes;
    ++answer.record_count;
    answer.next = reader.position();
  }
  if (reader.damaged()) answer.flags |= wire::log_damaged;
  if (reader.dropped(request.position)) answer.flags |= wire::log_damaged | wire::log_dropped;
}

void StreamSource::fetch(const wire::FetchRequest& request, AnswerBody& body) {
  body.heads.clear();
  body.pieces.clear();
  wire::BytesAnswer answer{.offset = request.offset, .flags = wire::log_absent};
  std::vector<Bytes> payload;
  // Before the stream's end is looked at, as above.
  if (is_final(request.source, request.incarnation)) answer.flags |= wire::log_final;
  if (Log* log = log_of(request.source, request.incarnation, request.destination)) {
    segment::LogReader reader(*log, log->control.stream(request.destination),
                              static_cast<std::uint32_t>(request.destination), ranks_);
    const bool published = request.position < reader.published();  // now: it may be at any moment
    if (fetched_.size() >= readers_max) fetched_.clear();
    std::optional<segment::Record>& record = fetched_[{log->rank, log->incarnation, request.destination}];
    if (!record || record->position.value != request.position || record->chunk != request.chunk) {
      segment::Record found;
      record = reader.at(StreamPosition{request.position}, request.chunk, found) ? std::optional(found) : std::nullopt;
    }
    if (record && wire::payload_in_log(record->header) == record->header.length &&
        request.length <= wire::log_fetch_bytes_max && reader.pieces(*record, request.offset, request.length, payload)) {
      answer.flags = 0;
      answer.length = request.length;
    } else {
      payload.clear();
      if (published) answer.flags = wire::log_damaged;
    }
  }
  ByteWriter(body.heads).put(answer);
  body.pieces.push_back(body.heads);
  body.pieces.insert(body.pieces.end(), payload.begin(), payload.end());
  body.bytes = sizeof(answer) + answer.length;
}

}  // namespace hf::daemon
