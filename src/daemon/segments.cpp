#include "daemon/segments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "core/vprotocol/events.hpp"
#include "daemon/job.hpp"
#include "os/memory_file.hpp"
#include "segment/live_chunks.hpp"
#include "segment/log_layout.hpp"
#include "segment/log_writer.hpp"

namespace hf::daemon {
std::uint64_t choose_segment_bytes(std::uint64_t memory_bytes_max) {
  std::uint64_t wanted = std::min<std::uint64_t>(4u << 20, memory_bytes_max / 8);
  return std::max<std::uint64_t>(4, wanted / segment::chunk_bytes) * segment::chunk_bytes;
}

SegmentStore::SegmentStore(int rank_count, SegmentLimits limits)
    : rank_count_(rank_count),
      limits_(std::move(limits)),
      pool_(limits_.segment_bytes, limits_.ready_bytes),
      ranks_(static_cast<std::size_t>(rank_count)) {}

void SegmentStore::set_limits(std::uint64_t memory_bytes_max, std::uint64_t ready_bytes) {
  limits_.memory_bytes_max = memory_bytes_max;
  limits_.ready_bytes = ready_bytes;
  pool_.set_ready(ready_bytes);
}

Result<> SegmentStore::create_incarnation(int rank) {
  auto incarnation = std::make_unique<Incarnation>();
  Result<os::UniqueFd> file = os::make_memory_file("holdfast-control", segment::control_bytes(rank_count_));
  if (!file) return std::unexpected(file.error());
  // Written by the agent only when the incarnation has ended: forget().
  Result<os::Mapping> mapping = os::Mapping::map(file->get(), true);
  if (!mapping) return std::unexpected(mapping.error());
  incarnation->control = std::move(*file);
  incarnation->control_mapping = std::move(*mapping);
  PerRank& owner = ranks_[static_cast<std::size_t>(rank)];
  owner.may_give_back = !owner.incarnations.empty();
  owner.incarnations.push_back(std::move(incarnation));
  return {};
}

Result<> SegmentStore::begin_at(int rank, std::uint32_t first, Bytes events, TestClock last_failed, const OnBusy& on_busy) {
  ranks_[static_cast<std::size_t>(rank)].first = first;
  if (Result<> created = create_incarnation(rank); !created) return created;
  segment::ControlView view = control(rank, first);
  std::vector<os::Mapping> mappings;
  segment::LogWriter writer(view, [&]() -> MutableBytes {
    auto made = create_log(rank);
    auto* log = made ? std::get_if<Segment>(&*made) : nullptr;
    Result<os::Mapping> mapping = log ? os::Mapping::map(log->fd, true) : fail("");
    if (!mapping) return {};
    mappings.push_back(std::move(*mapping));
    return mappings.back().bytes();
  });
  for (Bytes left = events; !left.empty(); on_busy()) {
    const Bytes piece = left.first(std::min<std::size_t>(left.size(), walk_bytes));
    if (!writer.reserve_raw(rank_count_, piece.size())) {
      return fail(fmt::format("the events of rank {}, {} bytes, find no room in its log: raise --log-memory", rank, events.size()));
    }
    writer.append_raw(rank_count_, piece);
    left = left.subspan(piece.size());
  }
  writer.publish(rank_count_);
  segment::ControlHeader& header = view.header();
  header.rank = rank;
  header.rank_count = rank_count_;
  header.incarnation = first;
  header.last_failed_test = last_failed.value;
  segment::store_release(header.magic, segment::control_magic);
  return {};
}

Result<> SegmentStore::roll_back(int rank, std::uint32_t first, Bytes events, const OnBusy& on_busy) {
  PerRank& owner = ranks_[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < owner.incarnations.size(); ++i) {
    owner.rolled_back[owner.first + static_cast<std::uint32_t>(i)] = std::move(owner.incarnations[i]);
  }
  owner.incarnations.clear();
  return begin_at(rank, first, events, {}, on_busy);
}

SegmentStore::EventExtent SegmentStore::event_extent(int rank) const {
  EventExtent extent;
  for (const auto& incarnation : ranks_[static_cast<std::size_t>(rank)].incarnations) {
    segment::ControlView view = view_of(*incarnation);
    // In this order: the test was made with no more than these events.
    extent.last_failed = std::max(extent.last_failed, TestClock{segment::load_acquire(view.header().last_failed_test)});
    extent.end += segment::load_acquire(view.stream(rank_count_).tail);
  }
  return extent;
}

SegmentStore::EventExtent SegmentStore::carried_extent(int rank) const {
  EventExtent extent;
  for (const auto& incarnation : ranks_[static_cast<std::size_t>(rank)].incarnations) {
    const segment::ControlHeader& header = view_of(*incarnation).header();
    extent.end = std::max(extent.end, segment::load_acquire(header.carried_events));
    extent.last_failed = std::max(extent.last_failed, TestClock{segment::load_acquire(header.carried_failed)});
  }
  return extent;
}

std::vector<segment::CarriedEvents::Piece> SegmentStore::carried(Rank of, Term term) const {
  std::vector<segment::CarriedEvents::Piece> pieces;
  if (!ranks_[static_cast<std::size_t>(of.value)].incarnations.empty()) return pieces;  // of this node: its rings stand there
  for (const PerRank& rank : ranks_) {
    for (const auto& incarnation : rank.incarnations) {
      pieces.push_back(segment::CarriedEvents(view_of(*incarnation), of).read(term));
    }
  }
  std::ranges::sort(pieces, {}, &segment::CarriedEvents::Piece::position);
  return pieces;
}

bool SegmentStore::read_events(int rank, std::uint64_t position, MutableBytes out) {
  std::uint64_t begin = 0;
  for (auto& incarnation : ranks_[static_cast<std::size_t>(rank)].incarnations) {
    segment::StreamEntry& entry = view_of(*incarnation).stream(rank_count_);
    const std::uint64_t end = begin + segment::load_acquire(entry.tail);
    if (position < end && !out.empty()) {
      segment::LogReader& reader = incarnation->events;
      if (reader.position() == 0) {
        reader = {*incarnation, entry, static_cast<std::uint32_t>(rank_count_), rank_count_};
        reader.keep_trail(incarnation->event_chunks);
      }
      reader.seek_raw(position - begin);
      const std::uint64_t n = std::min<std::uint64_t>(out.size(), end - position);
      if (!reader.read_raw(out.first(n))) return false;
      position += n;
      out = out.subspan(n);
    }
    begin = end;
  }
  return out.empty();
}

std::optional<std::uint64_t> SegmentStore::walk_events(int rank, std::uint64_t position, std::uint64_t end, std::uint64_t enough,
                                                       const std::function<void(Bytes)>& take) {
  end = std::min(end, event_extent(rank).end);
  std::uint64_t piece = walk_bytes;
  for (std::uint64_t walked = 0; position < end && walked < enough;) {
    walked_.resize(std::min(piece, end - position));
    if (!read_events(rank, position, walked_)) return std::nullopt;
    const std::size_t whole = core::vprotocol::whole_events(walked_);
    if (whole == 0 && walked_.size() == end - position) break;  // the rest of one is to come
    if (whole == 0) piece *= 2;
    take(Bytes(walked_).first(whole));
    position += whole;
    walked += whole;
  }
  return position;
}

void SegmentStore::read_past_words(int rank, wire::PastInfo& info) const {
  for (const auto& incarnation : ranks_[static_cast<std::size_t>(rank)].incarnations) {
    const segment::ControlHeader& header = view_of(*incarnation).header();
    info.clock_reads = std::max(info.clock_reads, segment::load_acquire(header.clock_reads));
    info.thread_turns = std::max(info.thread_turns, segment::load_acquire(header.thread_turns));
  }
}

Result<std::variant<SegmentStore::Segment, wire::Exhausted>> SegmentStore::create_log(int rank) {
  PerRank& owner = ranks_[static_cast<std::size_t>(rank)];
  HF_CHECK(!owner.incarnations.empty());
  bool full = owner.memory_bytes + limits_.segment_bytes > limits_.memory_bytes_max;
  if (full && std::exchange(owner.may_give_back, false)) give_back(owner);
  return create_within_limits(owner);
}

Result<std::variant<SegmentStore::Segment, wire::Exhausted>> SegmentStore::create_within_limits(PerRank& owner) {
  std::vector<Log>& logs = owner.incarnations.back()->logs;
  Log log;
  log.held_bytes = limits_.segment_bytes;
  if (owner.memory_bytes + limits_.segment_bytes <= limits_.memory_bytes_max) {
    Result<os::UniqueFd> file = pool_.take();
    if (!file) return std::unexpected(file.error());
    log.fd = std::move(*file);
    owner.memory_bytes += limits_.segment_bytes;
  } else {
    wire::Exhausted exhausted{limits_.memory_bytes_max, limits_.disk_bytes_max};
    if (owner.disk_bytes + limits_.segment_bytes > limits_.disk_bytes_max) return exhausted;
    Result<os::UniqueFd> file = os::make_disk_file(limits_.directory, limits_.segment_bytes, log_disk_reserve_bytes);
    if (!file && file.error().text.empty()) return exhausted;
    if (!file) return std::unexpected(file.error());
    log.fd = std::move(*file);
    log.on_disk = true;
    owner.disk_bytes += limits_.segment_bytes;
  }
  Segment out{log.fd.get(),
              {limits_.segment_bytes, static_cast<std::uint32_t>(logs.size()), std::uint32_t{log.on_disk}}};
  logs.push_back(std::move(log));
  return out;
}

SegmentStore::Incarnation* SegmentStore::incarnation(int rank, std::uint32_t number) const {
  if (rank < 0 || rank >= rank_count_) return nullptr;
  const PerRank& owner = ranks_[static_cast<std::size_t>(rank)];
  const std::uint64_t index = std::uint64_t{number} - owner.first;
  if (index < owner.incarnations.size()) return owner.incarnations[index].get();
  auto before = owner.rolled_back.find(number);
  return before == owner.rolled_back.end() ? nullptr : before->second.get();
}

SegmentStore::Segment SegmentStore::find(const wire::SegmentName& name) const {
  const Incarnation* found = incarnation(name.rank, name.incarnation);
  if (!found) return {};
  if (name.kind == wire::SegmentKind::control) {
    if (name.index != 0) return {};
    return {found->control.get(), {segment::control_bytes(rank_count_), 0, 0}};
  }
  if (name.kind != wire::SegmentKind::log || name.index >= found->logs.size()) return {};
  const Log& log = found->logs[name.index];
  return {log.fd.get(), {limits_.segment_bytes, name.index, std::uint32_t{log.on_disk}}};
}

segment::ControlView SegmentStore::control(int rank, std::uint32_t number) const {
  const Incarnation* found = incarnation(rank, number);
  if (!found) return {};
  return view_of(*found);
}

segment::ControlView SegmentStore::view_of(const Incarnation& incarnation) const {
  return {incarnation.control_mapping.bytes().data(), rank_count_};
}

Bytes SegmentStore::control_bytes(int rank, std::uint32_t number) const {
  const Incarnation* found = incarnation(rank, number);
  return found ? Bytes(found->control_mapping.bytes()) : Bytes();
}

Bytes SegmentStore::Incarnation::segment(std::uint32_t index) {
  if (index >= logs.size()) return {};
  Log& log = logs[index];
  if (!log.mapping) {
    if (Result<os::Mapping> mapping = os::Mapping::map(log.fd.get(), false)) log.mapping = std::move(*mapping);
  }
  return log.mapping.bytes();
}

Bytes SegmentStore::log_bytes(int rank, std::uint32_t number, std::uint32_t index) {
  Incarnation* found = incarnation(rank, number);
  return found ? found->segment(index) : Bytes();
}

void SegmentStore::forget(int rank, int receiver) {
  PerRank& owner = ranks_[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i + 1 < owner.incarnations.size(); ++i) {
    segment::ControlView view = view_of(*owner.incarnations[i]);
    segment::store_release(view.stream(receiver).released, std::uint32_t{1});
  }
  owner.may_give_back = true;
}

void SegmentStore::give_back(PerRank& owner) {
  for (std::size_t i = 0; i + 1 < owner.incarnations.size(); ++i) give_back(owner, *owner.incarnations[i]);
}

void SegmentStore::give_back(PerRank& owner, Incarnation& ended) {
  std::size_t chunks = limits_.segment_bytes / segment::chunk_bytes;
  segment::ControlView view(ended.control_mapping.bytes().data(), rank_count_);
  auto live = segment::live_chunks(view, ended, chunks * ended.logs.size());
  if (!live) return;  // damaged: whoever needs it will say so
  std::vector<std::vector<bool>> held(ended.logs.size(), std::vector<bool>(chunks));
  for (segment::ChunkId id : *live) held[segment::segment_of(id)][segment::index_of(id)] = true;
  for (std::size_t i = 0; i < ended.logs.size(); ++i) {
    Log& log = ended.logs[i];
    std::uint64_t count = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (held[i][chunk]) ++count;
      else os::give_back(log.fd.get(), chunk * segment::chunk_bytes, segment::chunk_bytes);
    }
    std::uint64_t& total = log.on_disk ? owner.disk_bytes : owner.memory_bytes;
    total -= std::exchange(log.held_bytes, count * segment::chunk_bytes) - count * segment::chunk_bytes;
  }
}

int SegmentStore::control_fd(int rank, std::uint32_t number) const {
  const Incarnation* found = incarnation(rank, number);
  return found ? found->control.get() : -1;
}

}  // namespace hf::daemon
