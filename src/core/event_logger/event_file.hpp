// The file in which an agent keeps its ranks' determinants at level `disk` (docs/event-files.md). Pure.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "core/event_logger/found.hpp"

namespace hf::core::event_logger {

struct FileName {
  std::uint64_t key = 0;  // of the job
  std::uint32_t agent = 0;
};

struct FileRecord {
  enum class Kind : std::uint32_t { append = 1, cut = 2 } kind = Kind::append;
  Rank rank{};
  Term term{};
  std::uint64_t position = 0;  // cut: it alone
  Extent promised;
  TestClock last_failed{};
  Bytes bytes;
};

inline constexpr std::size_t file_head_bytes = 24, file_record_bytes_max = 1 << 20;

void encode_head(const FileName& name, std::vector<std::byte>& out);
// `place`: in the file. `synced`: so much of the file is known to be on disk.
void encode(const FileRecord& record, const FileName& name, std::uint64_t place, std::uint64_t synced, std::vector<std::byte>& out);

enum class FileEnd {
  whole,
  torn,     // what follows was not known to be on disk: nothing depends on it
  damaged,  // it was
};
struct FileRead {
  FileEnd end = FileEnd::whole;
  std::uint64_t place = 0;  // behind the last record
};
// `take` sees each record up to there; false: it cannot be, and the file is damaged.
FileRead read_records(Bytes file, const FileName& name, const std::function<bool(const FileRecord&)>& take);

// What the file has of ranks that are to be hosted under these terms, as a holder would give it. Of a damaged file `found` is of no use.
FileRead find_in(Bytes file, const FileName& name, const std::map<Rank, Term>& ranks, std::map<Rank, Found>& found);

}  // namespace hf::core::event_logger
