// The output of a job without a terminal, kept in files of bounded size (docs/clients.md, "Kept output"). One process writes, any number
// read meanwhile or later.
//
// A position counts the bytes of records from the start of the job. A file `output-START` holds records from position START (16 hexadecimal
// digits) up to the START of the next; the oldest file is removed when there would be more than the limit.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

enum class KeptStream : std::uint32_t { out = 1, error = 2 };

// How far a rank's stream has been passed on with this record: OutputGate::Position.
struct KeptMark {
  std::int32_t rank = -1;  // -1: it is of no rank
  std::uint32_t of_error = 0;  // 1: of the rank's standard error
  std::uint64_t lines = 0, open_bytes = 0;
};
struct KeptRecordHead {
  std::uint32_t bytes = 0;  // that follow; up to kept_record_bytes_max
  KeptStream stream = KeptStream::out;
  std::uint32_t unfinished = 0;  // 1: the next record goes on with it, and has the mark
  std::uint32_t reserved = 0;
  KeptMark mark;
};
static_assert(sizeof(KeptRecordHead) == 40);
inline constexpr std::uint32_t kept_record_bytes_max = 64 * 1024;
inline constexpr std::uint64_t output_limit_min = 1 << 20;

using OnKeptRecord = std::function<void(const KeptRecordHead& head, std::string_view bytes)>;
using OnKeptBytes = std::function<void(KeptStream stream, std::string_view bytes)>;
// The whole records at the start of `in`; how many bytes they take. Empty: what follows is no record.
std::optional<std::size_t> decode_kept(Bytes in, const OnKeptRecord& on_record);

class KeptOutput {
 public:
  // In this directory, which stays the caller's and must be open as long. `limit_bytes` is at least output_limit_min.
  KeptOutput(int directory, std::uint64_t limit_bytes) : directory_(directory), file_bytes_max_(limit_bytes / files_max) {}
  // Goes on with what another process, which has ended, has written there. The newest mark of each stream; what it had begun to write and
  // not finished is removed.
  Result<std::vector<KeptMark>> resume();
  std::uint64_t position() const { return position_; }  // of what is written next
  // What cannot be written (a full disk) is dropped, and that is said in the output as soon as something can be.
  void append(KeptStream stream, std::string_view bytes, const KeptMark& mark = {});

 private:
  static constexpr std::uint64_t files_max = 8;
  using StreamName = std::pair<std::int32_t, std::uint32_t>;  // rank, of_error
  Result<> append_records(KeptStream stream, std::string_view bytes, const KeptMark& mark);
  Result<> write(Bytes records);
  Result<> begin_file();
  Result<> resume_file();
  Result<> write_marks();
  void remember(const KeptMark& mark) {
    if (mark.rank >= 0) marks_[{mark.rank, mark.of_error}] = {++remembered_, mark};
  }
  std::vector<KeptMark> marks() const;  // who has written last is last
  int directory_;
  std::uint64_t file_bytes_max_;
  std::vector<std::uint64_t> starts_;  // of the files, ascending; the last is written
  os::UniqueFd file_;
  std::uint64_t position_ = 0;
  std::map<StreamName, std::pair<std::uint64_t, KeptMark>> marks_;  // each file begins with them. Number in the order of writing
  std::uint64_t remembered_ = 0;
  std::uint64_t lost_bytes_ = 0;  // not written since the last record
  std::string why_lost_;
};

class KeptReader {
 public:
  KeptReader(int directory, std::uint64_t position) : directory_(directory), position_(position) {}
  // Some of what there is; false: nothing more now. An error: what is there is not what a job writes.
  Result<bool> read_some(const OnKeptBytes& on_bytes);
  std::uint64_t position() const { return position_; }
  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }  // bytes that were to be read and had been removed

 private:
  Result<bool> open_file();
  Result<std::size_t> read_records(const OnKeptBytes& on_bytes);
  int directory_;
  std::uint64_t position_, start_ = 0;  // of the next record, and of the file
  std::uint64_t dropped_ = 0;
  os::UniqueFd file_;
};

}  // namespace hf::daemon
