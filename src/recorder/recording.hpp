// What a program learns from the C library and would learn otherwise a second time: recorded as events of its rank, and given again to the
// rank's next incarnation (docs/recorder.md). Pure; one thread; no memory of its own but for clocks.
//
// Each kind of call asks the past first (replay_*), and records what it got from the system only when that has nothing (record_*).
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/vprotocol/events.hpp"
#include "recorder/file_index.hpp"
#include "recorder/host_clocks.hpp"
#include "recorder/owner.hpp"

namespace hf::recorder {

using core::vprotocol::EventHead;
using core::vprotocol::EventKind;

// What a libc_value or libc_bytes event was recorded for. The numbers are part of the log's format.
enum class Call : std::uint32_t {
  process_id = 1, parent_id, usage, process_times, random_bytes, random_device, program, stack_guard, mpi_time,
  processor, system_info, load, file_system, child, host_clocks,
  began, kept_file, available_pages, interval_timer, child_usage, listing
};

inline constexpr std::uint32_t clock_count = 12;  // CLOCK_REALTIME to CLOCK_TAI
inline constexpr std::uint32_t clock_shift = 28, clock_marker = 15;  // a marker has no value: it tells of reads without an event
inline constexpr std::uint32_t reads_mask = (1u << clock_shift) - 1;

// What is done to a file. A step that has its effect once is recorded when it begins, with what is there then, and again when it has `ended`, with an
// error number or 0: the n-th end is that of the n-th beginning, and the last one may be missing.
enum class FileStep : std::uint32_t {
  used = 1, made, removed, renamed, directory_made, directory_removed,
  looked, looked_at_link, asked,  // stat, lstat, access
  linked,                         // link, symlink, mkfifo
  unread,                         // closed again, and not read: the n-th that was used
  written,                        // opened by what makes it where it is not there, without O_EXCL, or empties it; recorded when that has been done, with which file it is, or could not be, with a negative error number
  in_sight,                       // known by another name too (renamed, linked), changed by its name, or written again in place: it is to be the file itself in each replay
  closed,                         // the n-th that was `written`, when all that wrote to it was closed, as far as the recorder can tell
  closed_new,                     // the same of the n-th that was `made`
  seen,                           // known otherwise than by its name: by a link; or open to be written when this rank started a process, or used after one may have changed it
  cut,                            // cut or made longer by its name, or by a descriptor that adds to it
  arrived,                        // a directory was given this name: by which renaming (its hash, and which one of it)
  directory_opened,               // to be read, when that has been done or could not be; with how often the name had been `used` before
  updated,                        // opened to be written at places, and not emptied; when that has been done: a sum of what it contained, and which file it is
  passed_on,                      // given another name
  entered,                        // a directory, or one in it, is that of the process, or files have been opened in it by its descriptor
  opening,                        // about to be `written`: the n-th that is
  in_call,                        // of no name: a file is about to be changed in this MPI call, or behind it
  ended = 32
};
inline constexpr unsigned file_steps = static_cast<unsigned>(FileStep::in_call) + 1;
struct FileState {
  std::int64_t bytes = -1;  // -1: it is not there
  std::int64_t changed_ns = 0;  // of what is used to be read only, a sum of what it contains
  bool operator==(const FileState&) const = default;
};

// What stat says.
struct FileStatus {
  std::uint64_t device = 0, inode = 0;
  std::uint32_t mode = 0, links = 0, owner = 0, group = 0;
  std::uint64_t special_device = 0;
  std::int64_t bytes = 0, block_bytes = 0, blocks = 0;
  std::int64_t accessed_ns = 0, modified_ns = 0, changed_ns = 0;
  std::uint64_t zero = 0;
};
static_assert(sizeof(FileStatus) == core::vprotocol::file_status_bytes);

// One of the program's looks at the files of a name.
struct FileLook {
  FileStep step;
  std::uint64_t name;
  std::uint32_t number;  // from 0, of this step and name
};
inline constexpr std::uint32_t look_shift = 8, looks_max = (1u << 24) - 1;
constexpr FileStep end_of(FileStep step) { return static_cast<FileStep>(static_cast<std::uint32_t>(step) + static_cast<std::uint32_t>(FileStep::ended)); }
constexpr FileStep numbered(FileStep step, std::uint32_t number) { return static_cast<FileStep>(static_cast<std::uint32_t>(step) | number << look_shift); }

// A piece of what a file contained that was read; behind it, up to bytes_max bytes. A file is told by its name, its size and the sum of what it contains.
struct KeptPiece {
  std::uint64_t name = 0;
  std::int64_t bytes = 0, sum = 0;  // of the whole file
  std::int64_t at = 0;              // where in it the piece begins
  static constexpr std::size_t bytes_max = 4064;
};

class Recording {
 public:
  explicit constexpr Recording(Owner owner) : owner_(owner) {}

  // The events of the predecessors, those of files first; kept by the caller. `clock_reads`: what they are known to have made. `places`: room for
  // FileIndex::count of them.
  void load(const std::byte* past, std::size_t bytes, std::uint64_t clock_reads, FilePlace* places);

  bool replay_clock(std::uint32_t clock, std::uint64_t& ns) { return !clocks_over_ && replay_recorded_clock(clock, ns); }
  std::uint64_t record_clock(std::uint32_t clock, std::uint64_t ns);
  // Before any clock is read: those of this host are set by those of the first one. False: this is the first one, which is to be recorded.
  bool replay_host(const HostClocks& own);
  void record_host(const HostClocks& own) { record_bytes(Call::host_clocks, &own, sizeof own); }
  std::int64_t offset(std::uint32_t clock) const { return offset_[clock]; }  // what the program's clock is ahead of the system's
  std::int64_t host_offset(std::uint32_t clock) const;                       // without what keeps it from going back
  std::int64_t host_offset_of_ticks() const { return host_offsets_.ticks; }
  bool is_first_host() const { return !other_host_; }
  bool sets_clocks() const {
    for (const std::int64_t offset : offset_) {
      if (offset != 0) return true;
    }
    return false;
  }
  std::uint64_t clock_reads() const { return reads_; }
  void flush_clock();  // appends an event for the reads that have none

  bool replay_value(Call call, std::uint64_t& value);
  void record_value(Call call, std::uint64_t value);
  bool is_next(Call call, std::uint64_t value);  // of values and bytes
  bool is_over();                                // nothing is left to be replayed, but of files
  bool replay_bytes(Call call, void* to, std::size_t& bytes);  // in: room, out: how many
  static constexpr std::size_t bytes_max = 4096;  // of one event; a multiple of 16
  void record_bytes(Call call, const void* from, std::size_t bytes);

  // The n-th of these steps with a file of that name, from 0. Not in the order of the others: whether a program opens a file may depend on
  // what the run before has left there.
  bool replay_file(FileStep step, std::uint64_t name, unsigned occurrence, FileState& state) const;
  void record_file(FileStep step, std::uint64_t name, FileState state);
  std::uint64_t last_call() const;  // of FileStep::in_call; 0: there is none
  bool was_closed(FileStep closed, std::uint64_t name, unsigned occurrence) const;  // what was opened by the n-th such opening
  void record_closed(FileStep closed, std::uint64_t name, unsigned occurrence);     // if that is not known
  bool is_first() const { return begin_ == end_; }  // no predecessor has recorded anything

  // What files contained. In no order, as the above.
  void record_kept(const KeptPiece& piece, const std::byte* data, std::size_t bytes);
  const std::byte* find_kept(const KeptPiece& piece, std::size_t& bytes);  // null: it was not kept

  // What this look said: an error number, 0 when it succeeded, and with a `status` then what it was. `how`: what else the program said.
  bool replay_look(FileLook look, std::int64_t how, std::int64_t& error, FileStatus* status);
  void record_look(FileLook look, std::int64_t how, std::int64_t error, const FileStatus* status);

 private:
  struct Cursor {
    const std::byte* at = nullptr;
    EventHead head;
    const std::byte* body = nullptr;  // null: no event is at hand
  };
  bool replay_recorded_clock(std::uint32_t clock, std::uint64_t& ns);
  std::uint64_t next_unlogged(std::uint32_t clock);
  bool look(Cursor& cursor, bool clocks);

  Owner owner_;
  const std::byte *begin_ = nullptr, *end_ = nullptr;  // the past
  FileIndex files_;
  const std::byte* next_kept_ = nullptr;  // where the one after the last that was found may be
  Cursor clocks_, others_;
  bool clocks_over_ = true;
  std::uint32_t unlogged_left_ = 0;  // reads before the event at hand
  std::uint64_t past_reads_ = 0, reads_ = 0;

  std::uint64_t last_[clock_count] = {};  // what each clock said last, here
  std::int64_t offset_[clock_count] = {};
  HostClocks host_offsets_;
  bool other_host_ = false;
  bool looked_at_[clock_count] = {};  // by record_clock
  std::uint32_t last_clock_ = clock_marker;
  std::uint64_t logged_ = 0;     // the last value with an event
  std::uint64_t last_read_ = 0;  // by the system's clock
  unsigned rapid_ = 0;           // reads in a row, each soon after the one before
  std::uint32_t unlogged_ = 0;   // reads since the last event of a clock
};

}  // namespace hf::recorder
