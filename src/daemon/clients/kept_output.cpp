#include "daemon/clients/kept_output.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace hf::daemon {
namespace {

constexpr std::string_view prefix = "output-";
// More than what is written at once: of that all is read, or nothing.
constexpr std::size_t read_bytes = 1 << 20;

std::string name_of(std::uint64_t start) {
  return fmt::format("{}{:016x}", prefix, start);
}

// Of the files that are there, ascending.
std::vector<std::uint64_t> starts_in(int directory) {
  std::vector<std::uint64_t> out;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  while (dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    std::uint64_t start = 0;
    if (!name.starts_with(prefix)) continue;
    auto [end, code] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), start, 16);
    if (code == std::errc() && name == name_of(start)) out.push_back(start);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::optional<std::size_t> decode_kept(Bytes in, const OnKeptRecord& on_record) {
  ByteReader reader(in);
  std::size_t used = 0;
  while (reader.left() >= sizeof(KeptRecordHead)) {
    const auto head = reader.get<KeptRecordHead>();
    const bool known = head.stream == KeptStream::out || head.stream == KeptStream::error;
    if (!known || head.bytes > kept_record_bytes_max || head.unfinished > 1 || head.mark.rank < -1 || head.mark.of_error > 1) {
      if (used > 0) return used;
      return std::nullopt;
    }
    if (reader.left() < head.bytes) break;
    on_record(head, text_of(reader.get_bytes(head.bytes)));
    used += sizeof head + head.bytes;
  }
  return used;
}

void KeptOutput::append(KeptStream stream, std::string_view bytes, const KeptMark& mark) {
  if (lost_bytes_ > 0) {
    const std::string line = fmt::format("\nholdfast: {} bytes of output are not here: {}\n", lost_bytes_, why_lost_);
    if (append_records(KeptStream::error, line, {})) lost_bytes_ = 0;
  }
  Result<> written = lost_bytes_ == 0 ? append_records(stream, bytes, mark) : fail(why_lost_);
  remember(mark);
  if (written) return;
  lost_bytes_ += bytes.size();
  why_lost_ = written.error().text;
}

// The mark comes with the last record: a process that goes on with this file takes all of them or none.
Result<> KeptOutput::append_records(KeptStream stream, std::string_view bytes, const KeptMark& mark) {
  std::vector<std::byte> records;
  ByteWriter out(records);
  do {
    const std::string_view piece = bytes.substr(0, kept_record_bytes_max);
    bytes.remove_prefix(piece.size());
    KeptRecordHead head{static_cast<std::uint32_t>(piece.size()), stream, !bytes.empty()};
    if (bytes.empty()) head.mark = mark;
    out.put(head);
    out.put_bytes(bytes_of(piece));
  } while (!bytes.empty());
  if (!file_ || position_ + records.size() - starts_.back() > file_bytes_max_) {
    if (Result<> begun = begin_file(); !begun) return begun;
  }
  return write(records);
}

Result<> KeptOutput::write(Bytes records) {
  const auto at = static_cast<off_t>(position_ - starts_.back());
  ssize_t n;
  do {
    n = ::pwrite(file_.get(), records.data(), records.size(), at);
  } while (n < 0 && errno == EINTR);
  if (n == std::ssize(records)) {
    position_ += records.size();
    return {};
  }
  const int code = n < 0 ? errno : ENOSPC;
  if (::ftruncate(file_.get(), at) != 0) file_.reset();  // what is there of it would be taken for the next
  return fail(std::strerror(code));
}

Result<> KeptOutput::begin_file() {
  os::UniqueFd file(::openat(directory_, name_of(position_).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail(std::strerror(errno));
  file_ = std::move(file);
  starts_.push_back(position_);
  while (starts_.size() > files_max) {
    ::unlinkat(directory_, name_of(starts_.front()).c_str(), 0);
    starts_.erase(starts_.begin());
  }
  if (Result<> written = write_marks(); !written) {
    ::unlinkat(directory_, name_of(position_).c_str(), 0);
    starts_.pop_back();
    file_.reset();
    return written;
  }
  return {};
}

Result<> KeptOutput::write_marks() {
  if (marks_.empty()) return {};
  std::vector<std::byte> records;
  ByteWriter out(records);
  for (const KeptMark& mark : marks()) out.put(KeptRecordHead{.mark = mark});
  return write(records);
}

Result<std::vector<KeptMark>> KeptOutput::resume() {
  starts_ = starts_in(directory_);
  for (std::uint64_t start : starts_) {
    file_.reset(::openat(directory_, name_of(start).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file_) return fail(fmt::format("cannot go on with the kept output: {}", std::strerror(errno)));
    position_ = start;
    if (Result<> read = resume_file(); !read) return std::unexpected(read.error());
  }
  if (file_ && position_ == starts_.back()) {
    if (Result<> written = write_marks(); !written) return std::unexpected(written.error());
  }
  return marks();
}

std::vector<KeptMark> KeptOutput::marks() const {
  std::vector<std::pair<std::uint64_t, KeptMark>> by_number;
  for (const auto& [stream, numbered] : marks_) by_number.push_back(numbered);
  std::ranges::sort(by_number, {}, &std::pair<std::uint64_t, KeptMark>::first);
  std::vector<KeptMark> out;
  for (const auto& [number, mark] : by_number) out.push_back(mark);
  return out;
}

// Up to the last record that was finished.
Result<> KeptOutput::resume_file() {
  const std::uint64_t start = position_;
  std::vector<std::byte> in(read_bytes);
  std::uint64_t read = start;
  for (;;) {
    const ssize_t n = ::pread(file_.get(), in.data(), in.size(), static_cast<off_t>(read - start));
    if (n < 0) return fail(fmt::format("cannot read the kept output: {}", std::strerror(errno)));
    auto used = decode_kept(Bytes(in).first(static_cast<std::size_t>(n)), [&](const KeptRecordHead& head, std::string_view) {
      read += sizeof head + head.bytes;
      if (head.unfinished) return;
      position_ = read;
      remember(head.mark);
    });
    if (!used) return fail("the kept output is damaged");
    if (*used == 0) break;
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(position_ - start)) != 0) return fail(fmt::format("cannot write the kept output: {}", std::strerror(errno)));
  return {};
}

// The file in which the position lies; false: there is none yet.
Result<bool> KeptReader::open_file() {
  for (;;) {
    const std::vector<std::uint64_t> starts = starts_in(directory_);
    if (starts.empty()) return false;
    if (position_ < starts.front()) {
      dropped_ += starts.front() - position_;
      position_ = starts.front();
    }
    const std::uint64_t start = *std::prev(std::ranges::upper_bound(starts, position_));
    if (file_ && start == start_) return false;
    os::UniqueFd file(::openat(directory_, name_of(start).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file && errno == ENOENT) continue;  // removed since it was listed
    if (!file) return fail(fmt::format("cannot read the kept output: {}", std::strerror(errno)));
    file_ = std::move(file);
    start_ = start;
    return true;
  }
}

Result<std::size_t> KeptReader::read_records(const OnKeptBytes& on_bytes) {
  if (!file_) return 0;
  std::vector<std::byte> in(read_bytes);
  ssize_t n;
  do {
    n = ::pread(file_.get(), in.data(), in.size(), static_cast<off_t>(position_ - start_));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail(fmt::format("cannot read the kept output: {}", std::strerror(errno)));
  std::size_t read = 0, finished = 0;
  std::vector<std::pair<KeptStream, std::string_view>> pieces;
  auto used = decode_kept(Bytes(in).first(static_cast<std::size_t>(n)), [&](const KeptRecordHead& head, std::string_view bytes) {
    read += sizeof head + bytes.size();
    if (!bytes.empty()) pieces.emplace_back(head.stream, bytes);
    if (head.unfinished) return;
    finished = read;
    for (auto [stream, piece] : std::exchange(pieces, {})) on_bytes(stream, piece);
  });
  if (!used) return fail("the kept output is damaged");
  position_ += finished;
  return finished;
}

Result<bool> KeptReader::read_some(const OnKeptBytes& on_bytes) {
  for (;;) {
    Result<std::size_t> used = read_records(on_bytes);
    if (!used) return std::unexpected(used.error());
    if (*used > 0) return true;
    // A next file begins where this one ends, so that nothing can have been added to this one since.
    Result<bool> opened = open_file();
    if (!opened || !*opened) return opened;
  }
}

}  // namespace hf::daemon
