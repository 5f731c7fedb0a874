#include "recorder/kept.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/contents.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

constexpr std::int64_t clocks_of_file_systems_ns = 2'000'000'000;  // what they may be behind

std::int64_t kept_bytes;

}  // namespace

void keep(const char* path, Name& name, const FileState& contents) {
  const bool known = name.is_kept && name.kept_sum == contents.changed_ns;
  const std::int64_t most = process.has_begun() ? kept_bytes_max : kept_before_init_max;
  if (known || contents.bytes < 0 || contents.bytes > kept_file_bytes_max || kept_bytes + contents.bytes > most) return;
  const auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (fd < 0) return;
  KeptPiece piece{name.hash, contents.bytes, contents.changed_ns, 0};
  alignas(8) std::byte bytes[KeptPiece::bytes_max];
  long got = 0;
  do {
    got = ::syscall(SYS_pread64, fd, bytes, sizeof bytes, piece.at);
    if (got < 0) break;
    process.recording.record_kept(piece, bytes, static_cast<std::size_t>(got));
    piece.at += got;
  } while (got > 0 && piece.at < contents.bytes);
  ::syscall(SYS_close, fd);
  kept_bytes += piece.at;
  name.is_kept = piece.at == contents.bytes;
  name.kept_sum = contents.changed_ns;
}

bool is_kept(const KeptPiece& file) {
#ifdef HOLDFAST_MUTATE_KEEP_NOTHING
  return false;
#endif
  std::size_t bytes = 0;
  return process.recording.find_kept(file, bytes) != nullptr;
}

bool write_kept(int fd, KeptPiece piece) {
  do {
    std::size_t bytes = 0;
    const std::byte* const data = process.recording.find_kept(piece, bytes);
    if (!data || (bytes == 0 && piece.bytes > 0) || !write_all(fd, data, bytes, piece.at)) return false;
    piece.at += static_cast<std::int64_t>(bytes);
  } while (piece.at < piece.bytes);
  return true;
}

void keep_if_young(const char* path, Name& name, const FileState& now) {
  struct stat status;
  if (now.bytes < 0 || system_status(AT_FDCWD, path, &status, 0) != 0) return;
  const bool is_open = name.closed.inode == 0 && (name.count(FileStep::written) > 0 || name.count(FileStep::made) > 0);
  if (name.made_here && (is_open || name.closed == closed_file_of(status))) return;
  const std::int64_t changed_ns = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  if (changed_ns + clocks_of_file_systems_ns > process.first_began_ns()) keep(path, name, now);
}

void keep_if_read(const char* path) {
  Name* name = name_of(hash_of(path));
  if (!name || name->count(FileStep::used) == 0 || name->made_here || !is_ordinary(path)) return;
  keep(path, *name, contents_of(path));
}

bool make_kept_again(const char* path, Name& name, const FileState& before) {
  const KeptPiece first{name.hash, before.bytes, before.changed_ns, 0};
  if (!is_kept(first)) return false;
  drop_out_of_sight(name);
  if (!make_out_of_sight(path, name)) return false;
  const bool done = write_kept(name.out_of_sight, first);
  if (done) name.instead = Instead::kept;
  else drop_out_of_sight(name);
  return done;
}

}  // namespace hf::recorder
