#include "recorder/recording.hpp"

#include <string.h>
#include <time.h>

namespace hf::recorder {
namespace {

bool is_kept(const EventHead& head) { return head.kind == EventKind::libc_bytes && head.key == static_cast<std::uint64_t>(Call::kept_file); }

// A program that reads one clock over and over, as to wait for a time, gets an event a microsecond: in between the clock goes on by one
// nanosecond a read, which follows from the number of reads.
constexpr std::uint64_t spin_step_ns = 1000;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr unsigned spin_reads = 64;  // from so many rapid reads in a row on

bool is_coarse(std::uint32_t clock) { return clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE; }
bool is_cpu_time(std::uint32_t clock) { return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID; }
std::uint64_t step_of(std::uint32_t clock) { return is_coarse(clock) ? 0 : 1; }

}  // namespace

void Recording::load(const std::byte* past, std::size_t bytes, std::uint64_t clock_reads, FilePlace* places) {
  begin_ = past;
  end_ = past + bytes;
  clocks_.at = others_.at = past;
  past_reads_ = clock_reads;
  clocks_over_ = false;
  files_.build(past, bytes, places);
}

// The next event of its half of the past is at hand.
bool Recording::look(Cursor& cursor, bool clocks) {
  while (!cursor.body && end_ && static_cast<std::size_t>(end_ - cursor.at) >= sizeof(EventHead)) {
    memcpy(&cursor.head, cursor.at, sizeof(EventHead));
    const std::uint64_t bytes = core::vprotocol::encoded_bytes(cursor.head);
    if (bytes > static_cast<std::uint64_t>(end_ - cursor.at)) owner_.diverged("the record of the run before is damaged");
    const bool wanted = clocks ? cursor.head.kind == EventKind::clock
                               : cursor.head.kind == EventKind::libc_value || (cursor.head.kind == EventKind::libc_bytes && !is_kept(cursor.head));
    if (wanted) cursor.body = cursor.at + sizeof(EventHead);
    cursor.at += bytes;
  }
  return cursor.body != nullptr;
}

std::uint64_t Recording::next_unlogged(std::uint32_t clock) {
  if (clock != last_clock_) owner_.diverged("another clock is read");
  ++reads_;
  return last_[clock] += step_of(clock);
}

bool Recording::replay_recorded_clock(std::uint32_t clock, std::uint64_t& ns) {
  for (;;) {
    const bool fresh = !clocks_.body;
    if (!look(clocks_, true)) break;
    if (fresh) unlogged_left_ = clocks_.head.count & reads_mask;
    if (unlogged_left_ > 0) {
      --unlogged_left_;
      ns = next_unlogged(clock);
      return true;
    }
    clocks_.body = nullptr;
    const std::uint32_t recorded = clocks_.head.count >> clock_shift;
    if (recorded == clock_marker) continue;
    if (recorded != clock) owner_.diverged("another clock is read");
    last_clock_ = clock;
    ns = last_[clock] = clocks_.head.key;
    ++reads_;
    return true;
  }
  if (reads_ < past_reads_) {
    ++unlogged_;  // the next event, of this incarnation, tells of them
    ns = next_unlogged(clock);
    return true;
  }
  clocks_over_ = true;
  return false;
}

std::int64_t Recording::host_offset(std::uint32_t clock) const {
  switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE: return host_offsets_.monotonic;
    case CLOCK_MONOTONIC_RAW: return host_offsets_.raw;
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return host_offsets_.boot;
    default: return 0;
  }
}

// Less than a second may be the difference between the real times of two hosts. On one host these clocks go on, and its real time may have been set.
bool Recording::replay_host(const HostClocks& own) {
  HostClocks first;
  std::size_t bytes = sizeof first;
  if (!replay_bytes(Call::host_clocks, &first, bytes)) return false;
  if (first.host == own.host) return true;
  auto offset = [](std::int64_t was, std::int64_t is) { return is - was < second_ns && was - is < second_ns ? 0 : was - is; };
  host_offsets_ = {own.host, offset(first.monotonic, own.monotonic), offset(first.raw, own.raw), offset(first.boot, own.boot),
                   offset(first.ticks, own.ticks)};
  other_host_ = host_offsets_.monotonic != 0 || host_offsets_.raw != 0 || host_offsets_.boot != 0 || host_offsets_.ticks != 0;
  for (std::uint32_t clock = 0; clock < clock_count; ++clock) offset_[clock] = host_offset(clock);
  return true;
}

std::uint64_t Recording::record_clock(std::uint32_t clock, std::uint64_t ns) {
  ++reads_;
  if (!looked_at_[clock]) {
    // That of another host, or of a new process's processor time, may be behind.
    looked_at_[clock] = true;
    const std::int64_t behind = static_cast<std::int64_t>(last_[clock] - ns) - offset_[clock];
    if (behind > 0) offset_[clock] += behind;
  }
  ns += static_cast<std::uint64_t>(offset_[clock]);
  const bool soon = clock == last_clock_ && ns - last_read_ < spin_step_ns;
  rapid_ = soon ? rapid_ + 1 : 0;
  last_read_ = ns;
  const bool near = is_coarse(clock) ? ns == logged_ : ns - logged_ < spin_step_ns;
  if (rapid_ > spin_reads && near && !is_cpu_time(clock) && unlogged_ < reads_mask) {
    ++unlogged_;
    return last_[clock] += step_of(clock);
  }
#ifndef HOLDFAST_MUTATE_DROP_CLOCK
  const EventHead event{EventKind::clock, clock << clock_shift | unlogged_, ns};
  owner_.append(&event, sizeof event);
#endif
  unlogged_ = 0;
  last_clock_ = clock;
  return logged_ = last_[clock] = ns;
}

void Recording::flush_clock() {
  if (unlogged_ == 0) return;
  const EventHead event{EventKind::clock, clock_marker << clock_shift | unlogged_, 0};
  unlogged_ = 0;
  owner_.append(&event, sizeof event);
}

bool Recording::replay_value(Call call, std::uint64_t& value) {
  if (!look(others_, false)) return false;
  if (others_.head.kind != EventKind::libc_value || others_.head.count != static_cast<std::uint32_t>(call)) {
    owner_.diverged("another function of the C library is called");
  }
  value = others_.head.key;
  others_.body = nullptr;
  return true;
}

bool Recording::is_next(Call call, std::uint64_t value) {
  return look(others_, false) && others_.head.kind == EventKind::libc_value && others_.head.count == static_cast<std::uint32_t>(call) &&
         others_.head.key == value;
}

bool Recording::is_over() { return !look(others_, false) && !look(clocks_, true) && reads_ >= past_reads_; }

bool Recording::replay_file(FileStep step, std::uint64_t name, unsigned occurrence, FileState& state) const {
  const FileIndex::Range range = files_.find(name, static_cast<std::uint32_t>(step));
  if (occurrence >= range.size()) return false;
  memcpy(&state, files_.body(range.begin[occurrence]), sizeof state);
  return true;
}

bool Recording::was_closed(FileStep closed, std::uint64_t name, unsigned occurrence) const {
  FileState state;
  return occurrence <= looks_max && replay_file(numbered(closed, occurrence), name, 0, state);
}

void Recording::record_closed(FileStep closed, std::uint64_t name, unsigned occurrence) {
  if (occurrence <= looks_max && !was_closed(closed, name, occurrence)) record_file(numbered(closed, occurrence), name, {0, 0});
}

void Recording::record_kept(const KeptPiece& piece, const std::byte* data, std::size_t bytes) {
  std::byte event[bytes_max];
  memcpy(event, &piece, sizeof piece);
  memcpy(event + sizeof piece, data, bytes);
  record_bytes(Call::kept_file, event, sizeof piece + bytes);
}

// From where the last one was found on, and then from the beginning.
const std::byte* Recording::find_kept(const KeptPiece& piece, std::size_t& bytes) {
  const std::byte* const middle = next_kept_ ? next_kept_ : begin_;
  for (const std::byte* begin : {middle, begin_}) {
    const std::byte* const end = begin == middle ? end_ : middle;
    for (const std::byte* at = begin; static_cast<std::size_t>(end - at) >= sizeof(EventHead);) {
      EventHead head;
      memcpy(&head, at, sizeof head);
      const std::uint64_t whole = core::vprotocol::encoded_bytes(head);
      if (whole > static_cast<std::uint64_t>(end - at)) owner_.diverged("the record of the run before is damaged");
      const std::byte* const body = at + sizeof head;
      at += whole;
      if (!is_kept(head) || head.count < sizeof piece || memcmp(body, &piece, sizeof piece) != 0) continue;
      next_kept_ = at;
      bytes = head.count - sizeof piece;
      return body + sizeof piece;
    }
  }
  return nullptr;
}

bool Recording::replay_look(FileLook look, std::int64_t how, std::int64_t& error, FileStatus* status) {
  const auto what = static_cast<std::uint32_t>(numbered(look.step, look.number));
  if (const auto found = files_.find(look.name, what | core::vprotocol::file_found); found.size() > 0) {
    if (!status) owner_.diverged("the record of the run before is damaged");
    error = 0;
    memcpy(status, files_.body(*found.begin), sizeof *status);
    return true;
  }
  const auto failed = files_.find(look.name, what);
  if (failed.size() == 0) return false;
  FileState said;
  memcpy(&said, files_.body(*failed.begin), sizeof said);
  if (said.changed_ns != how || (said.bytes == 0 && status)) owner_.diverged("another question is asked about a file");
  error = said.bytes;
  return true;
}

void Recording::record_look(FileLook look, std::int64_t how, std::int64_t error, const FileStatus* status) {
#ifndef HOLDFAST_MUTATE_DROP_LOOK
  const std::uint32_t value = static_cast<std::uint32_t>(look.step) | look.number << look_shift;
  if (error != 0 || !status) return record_file(static_cast<FileStep>(value), look.name, {error, how});
  struct {
    EventHead head;
    FileStatus status;
  } event{{EventKind::file, value | core::vprotocol::file_found, look.name}, *status};
  owner_.append(&event, sizeof event);
#endif
}

void Recording::record_file(FileStep step, std::uint64_t name, FileState state) {
#ifndef HOLDFAST_MUTATE_DROP_FILE
  struct {
    EventHead head;
    FileState state;
  } event{{EventKind::file, static_cast<std::uint32_t>(step), name}, state};
  owner_.append(&event, sizeof event);
#endif
}

std::uint64_t Recording::last_call() const {
  const FileIndex::Range calls = files_.find(0, static_cast<std::uint32_t>(FileStep::in_call));
  FileState last{0, 0};
  if (calls.size() > 0) memcpy(&last, files_.body(calls.end[-1]), sizeof last);
  return static_cast<std::uint64_t>(last.bytes);
}

void Recording::record_value(Call call, std::uint64_t value) {
#ifndef HOLDFAST_MUTATE_DROP_LIBC_VALUE
  const EventHead event{EventKind::libc_value, static_cast<std::uint32_t>(call), value};
  owner_.append(&event, sizeof event);
#endif
}

bool Recording::replay_bytes(Call call, void* to, std::size_t& bytes) {
  if (!look(others_, false)) return false;
  const bool same = others_.head.kind == EventKind::libc_bytes && others_.head.key == static_cast<std::uint64_t>(call);
  if (!same || others_.head.count > bytes) owner_.diverged("another function of the C library is called");
  bytes = others_.head.count;
  memcpy(to, others_.body, bytes);
  others_.body = nullptr;
  return true;
}

void Recording::record_bytes(Call call, const void* from, std::size_t bytes) {
#ifndef HOLDFAST_MUTATE_DROP_LIBC_BYTES
  struct {
    EventHead head;
    std::byte body[bytes_max];
  } event;
  event.head = {EventKind::libc_bytes, static_cast<std::uint32_t>(bytes), static_cast<std::uint64_t>(call)};
  memcpy(event.body, from, bytes);
  const std::uint64_t whole = core::vprotocol::encoded_bytes(event.head);
  memset(event.body + bytes, 0, whole - sizeof(EventHead) - bytes);
  owner_.append(&event, whole);
#endif
}

}  // namespace hf::recorder
