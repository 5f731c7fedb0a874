#include "daemon/clients/kept_output.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace hf::daemon {
namespace {

constexpr std::string_view prefix = "output-";
constexpr std::size_t read_bytes = 4 * (kept_record_bytes_max + sizeof(KeptRecordHead));

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

std::optional<std::size_t> decode_kept(Bytes in, const OnKeptBytes& on_bytes) {
  ByteReader reader(in);
  std::size_t used = 0;
  while (reader.left() >= sizeof(KeptRecordHead)) {
    const auto head = reader.get<KeptRecordHead>();
    const bool known = head.stream == KeptStream::out || head.stream == KeptStream::error;
    if (!known || head.bytes == 0 || head.bytes > kept_record_bytes_max) {
      if (used > 0) return used;
      return std::nullopt;
    }
    if (reader.left() < head.bytes) break;
    on_bytes(head.stream, text_of(reader.get_bytes(head.bytes)));
    used += sizeof head + head.bytes;
  }
  return used;
}

void KeptOutput::append(KeptStream stream, std::string_view bytes) {
  if (lost_bytes_ > 0) {
    const std::uint64_t lost = lost_bytes_;
    const std::string line = fmt::format("\nholdfast: {} bytes of output are not here: {}\n", lost, why_lost_);
    if (append_record(KeptStream::error, line)) lost_bytes_ = 0;
  }
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kept_record_bytes_max);
    bytes.remove_prefix(piece.size());
    Result<> written = lost_bytes_ == 0 ? append_record(stream, piece) : fail(why_lost_);
    if (written) continue;
    lost_bytes_ += piece.size();
    why_lost_ = written.error().text;
  }
}

Result<> KeptOutput::append_record(KeptStream stream, std::string_view bytes) {
  KeptRecordHead head{static_cast<std::uint32_t>(bytes.size()), stream};
  const std::uint64_t size = sizeof head + bytes.size();
  if (!file_ || position_ + size - starts_.back() > file_bytes_max_) {
    if (Result<> begun = begin_file(); !begun) return begun;
  }
  iovec pieces[] = {{&head, sizeof head}, {const_cast<char*>(bytes.data()), bytes.size()}};
  const auto at = static_cast<off_t>(position_ - starts_.back());
  ssize_t n;
  do {
    n = ::pwritev(file_.get(), pieces, 2, at);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(size)) {
    position_ += size;
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
  auto used = decode_kept(Bytes(in).first(static_cast<std::size_t>(n)), on_bytes);
  if (!used) return fail("the kept output is damaged");
  position_ += *used;
  return *used;
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
