// Answers questions about the log streams of this node's ranks: readers kept at the positions where they were left, so
// that a stream that is read in runs is not walked from its start each time. Knows no socket.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "daemon/log_service/log_server.hpp"
#include "segment/log_reader.hpp"
#include "wire/log_service.hpp"

namespace hf::daemon {

// An answer's body as pieces; the views into the logs stay valid, the others until the next answer is built.
struct AnswerBody {
  std::vector<std::byte> heads;  // all that is not payload, in order
  std::vector<Bytes> pieces;
  std::size_t bytes = 0;
};

class StreamSource {
 public:
  StreamSource(SegmentProvider& provider, int rank_count) : provider_(provider), ranks_(rank_count) {}

  // False: there is nothing new yet, and there may be later (then `answer` says just that).
  bool read(const wire::ReadRequest& request, AnswerBody& answer);
  void fetch(const wire::FetchRequest& request, AnswerBody& answer);

 private:
  struct Log : segment::SegmentMap {
    Bytes segment(std::uint32_t index) override { return provider->segment(rank, incarnation, index); }
    SegmentProvider* provider = nullptr;
    Rank rank{};
    Incarnation incarnation{};
    segment::ControlView control;
  };
  using LogName = std::tuple<Rank, Incarnation>;
  using StreamName = std::tuple<Rank, Incarnation, std::int32_t>;

  struct Collected;
  void collect(Log& log, const wire::ReadRequest& request, std::uint64_t end, wire::RecordsAnswer& answer, AnswerBody& body,
               Collected& found);
  std::uint64_t readable(const Log& log, std::int32_t destination, std::uint64_t& tail);
  bool is_final(std::int32_t source, std::uint32_t incarnation);
  Log* log_of(std::int32_t source, std::uint32_t incarnation, std::int32_t destination);
  segment::LogReader& reader_at(Log& log, std::int32_t destination, std::uint64_t position);

  SegmentProvider& provider_;
  int ranks_;
  std::map<LogName, Log> logs_;
  std::map<StreamName, segment::LogReader> readers_;  // at most readers_max
  std::map<StreamName, std::optional<segment::Record>> fetched_;  // the record last fetched from: a large one comes in many answers
};

}  // namespace hf::daemon
