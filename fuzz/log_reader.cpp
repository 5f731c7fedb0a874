// Reading another rank's sender log and event log, damaged in any way: ends, and stays inside the segments.
#include "segment/log_reader.hpp"

#include "logs.hpp"

namespace hf::fuzz {

Octets sample(Random& random) { return log_sample(random); }

void take(Bytes input) {
  LogInput log(input);
  segment::LogReader reader(log, log.entry, 0, log_ranks);
  segment::Record record;
  std::vector<Bytes> pieces;
  std::uint64_t last = 0;
  bool first = true;
  while (reader.next(record)) {
    HF_CHECK(first || record.position.value > last);
    HF_CHECK(reader.position() > record.position.value);
    first = false;
    last = record.position.value;
    pieces.clear();
    std::uint64_t n = wire::payload_in_log(record.header);
    if (reader.pieces(record, 0, n, pieces))
      for (Bytes piece : pieces) touch(piece);
    pieces.clear();
    if (reader.pieces(record, n / 3, n / 2, pieces))
      for (Bytes piece : pieces) touch(piece);
    segment::Record again;
    if (reader.at(record.position, record.chunk, again)) touch(std::as_bytes(std::span(&again, 1)));
  }
  for (std::uint64_t position = 0; position < 2000; position += 64)
    for (segment::ChunkId chunk = 0; chunk < 3; ++chunk) reader.at(StreamPosition{position}, chunk, record);
  segment::LogReader raw(log, log.entry, 0, log_ranks);
  std::byte event[48];
  while (raw.read_raw(event)) touch(event);
}

}  // namespace hf::fuzz
