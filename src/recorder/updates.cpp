#include "recorder/updates.hpp"

#include <errno.h>
#include <string.h>

#include "recorder/appended.hpp"
#include "recorder/contents.hpp"
#include "recorder/file_steps.hpp"
#include "recorder/gone.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

struct Updated {
  int fd = 0;            // 0: free
  Name* name = nullptr;  // of which it is out of sight; null: of none any more
  bool is_gone = false;  // no name leads to the file itself
  int base = 0;          // not 0: the same as it was when the last call began that the predecessors are known to have begun
  timespec base_time;    // of it, when the base was made; sure: that was a while before
  bool base_is_sure;
  int opened = 0;        // not 0: it was made of what the file contains in this run, and contained this; what has been written to it since, the file has to have
  std::int64_t identity = 0;
  dev_t device = 0;
  ino_t inode = 0;
  struct stat in_sight;  // the file itself, where it is not gone
  char path[4096];       // from the root
};
constexpr int updated_max = 1024;
Updated updates[updated_max];
int updates_end;  // those behind it are free
bool is_last_call;

constexpr std::int64_t copy_bytes_max = std::int64_t{1} << 30;
std::byte own[piece_bytes], was[piece_bytes], theirs[piece_bytes], opened[piece_bytes];

struct All {
  Updated* begin() { return updates; }
  Updated* end() { return updates + updates_end; }
} all;

Updated* find(const Name* name) {
  for (Updated& one : all) {
    if (one.fd != 0 && one.name == name) return &one;
  }
  return nullptr;
}

Updated* find_free() {
  for (Updated& one : all) {
    if (one.fd == 0) return &one;
  }
  return updates_end < updated_max ? &updates[updates_end++] : nullptr;
}

// Of the same file, whatever it is out of sight of now.
Updated* find(std::int64_t identity) {
  for (Updated& one : all) {
    if (one.fd != 0 && !one.is_gone && one.identity == identity) return &one;
  }
  return nullptr;
}

std::int64_t identity_of(int directory, const char* path, int flags) {
  struct statx status;
  if (system_statx(directory, path, flags, STATX_INO | STATX_BTIME, &status) != 0) return 0;
  std::uint64_t hash = status.stx_ino * 0x9e3779b97f4a7c15u;
  if ((status.stx_mask & STATX_BTIME) != 0) hash += static_cast<std::uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000 + status.stx_btime.tv_nsec;
  return static_cast<std::int64_t>(hash | 1);
}

bool is_zero(const std::byte* at, std::size_t bytes) { return at[0] == std::byte{0} && memcmp(at, at + 1, bytes - 1) == 0; }

// All of a piece, with zeros behind the end.
bool read_piece(int fd, std::byte* to, std::int64_t at) {
  std::size_t have = 0;
  for (long got = 1; have < piece_bytes && got > 0; have += static_cast<std::size_t>(got)) {
    got = ::syscall(SYS_pread64, fd, to + have, piece_bytes - have, at + static_cast<std::int64_t>(have));
    if (got < 0) return false;
  }
  memset(to + have, 0, piece_bytes - have);
  return true;
}

// It has so many bytes then. Of those behind `begin` what is not zero is copied.
bool copy(int from, int to, std::int64_t begin, std::int64_t bytes) {
  if (::syscall(SYS_ftruncate, to, bytes) != 0) return false;
  for (std::int64_t at = begin; at < bytes;) {
    at = ::syscall(SYS_lseek, from, at, SEEK_DATA);
    if (at < 0) return errno == ENXIO;
    if (at >= bytes) break;
    const std::size_t piece = bytes_of_piece(bytes - at);
    if (!read_piece(from, own, at) || !write_all(to, own, piece, at)) return false;
    at += static_cast<std::int64_t>(piece);
  }
  return true;
}

void drop(Updated& one) {
  close_by_system(one.fd);
  for (int copy : {one.base, one.opened}) {
    if (copy != 0) close_by_system(copy);
  }
  if (one.name) one.name->set_in_sight();
  one.fd = one.base = one.opened = 0;
  one.name = nullptr;
}

// 0: it cannot be had.
int copy_of(const Updated& one) {
  struct stat status;
  const bool fits = system_status(one.fd, "", &status, AT_EMPTY_PATH) == 0 && status.st_blocks * 512 <= copy_bytes_max;
  const int fd = fits ? open_unnamed(one.path) : -1;
  if (fd < 0) return 0;
  if (copy(one.fd, fd, 0, status.st_size)) return fd;
  close_by_system(fd);
  return 0;
}

// What was written before the base was made, the run before has written too, if it read the same.
bool has_written_the_same(const Updated& one, int file) {
  const std::int64_t bytes = size_of(one.fd);
  const int base = one.base == 0 ? one.fd : one.base;
  for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(piece_bytes)) {
    if (!read_piece(one.fd, own, at) || !read_piece(base, was, at) || !read_piece(one.opened, opened, at)) return false;
    if (memcmp(was, opened, piece_bytes) == 0) continue;
    if (!read_piece(file, theirs, at)) return false;
    for (std::size_t i = 0; i < piece_bytes; ++i) {
      if (own[i] == was[i] && was[i] != opened[i] && was[i] != theirs[i]) return false;
    }
  }
  return true;
}

// How many bytes from `at` on the file lacks: of what has been written since the base was made, and if `fills`, what was written before and is not in the file, which has `there`
// bytes in this piece: behind them, or in a page of zeros.
std::size_t lacking(std::size_t at, std::size_t end, std::size_t there, bool fills) {
  constexpr std::size_t page_bytes = 4096;
  std::size_t i = at;
  bool is_empty = false;  // the page
  for (; i < end && own[i] != theirs[i]; ++i) {
    if (i == at || i % page_bytes == 0) is_empty = fills && is_zero(theirs + i / page_bytes * page_bytes, page_bytes);
    if (own[i] == was[i] && !is_empty && !(fills && i >= there)) break;
  }
  return i - at;
}

bool write_rest(const Updated& one, int file, bool fills) {
#ifdef HOLDFAST_MUTATE_REST_UNWRITTEN
  return true;
#endif
  const std::int64_t bytes = size_of(one.fd), before = one.base == 0 ? bytes : size_of(one.base), there = size_of(file);
  for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(piece_bytes)) {
    if (!read_piece(one.fd, own, at) || !read_piece(one.base == 0 ? one.fd : one.base, was, at) || !read_piece(file, theirs, at)) return false;
    const std::size_t end = bytes_of_piece(bytes - at), end_there = there > at ? bytes_of_piece(there - at) : 0;
    for (std::size_t i = 0; i < end;) {
      const std::size_t lacks = lacking(i, end, end_there, fills);
      if (lacks > 0 && !write_all(file, own + i, lacks, at + static_cast<std::int64_t>(i))) return false;
      i += lacks + 1;
    }
  }
  const bool longer = (bytes > before || fills) && there < bytes;
  return (bytes >= before && !longer) || ::syscall(SYS_ftruncate, file, bytes) == 0;
}

void settle(Updated& one, bool fills) {
  if (one.is_gone) {  // what the program has open of it is the file from now on, as that which has no name any more
    drop(one);
    return;
  }
  const bool is_used = is_in_use(one.fd);
  if (!is_used && one.base == 0 && one.opened == 0) return drop(one);
  const int file = move_apart(open_by_system(one.path, O_RDWR));
  const bool still = file >= 0 && identity_of(file, "", AT_EMPTY_PATH) == one.identity;
  if (file < 0 && errno == ENOENT) return drop(one);  // another rank has removed it: what the program has open has no name, as it had not then
  if (!still && is_used) refuse(one.path);
  if (still && one.opened != 0 && !has_written_the_same(one, file)) refuse(one.path);
  if (still && (!write_rest(one, file, fills && is_used) || !hand_over(one.fd, one.path))) refuse(one.path);
  if (file >= 0) close_by_system(file);
  drop(one);
}

// Without one, the program goes on with the file itself at once.
void make_base(Updated& one) {
  constexpr std::int64_t moment_ns = 20'000'000;
  struct stat status;
  timespec now;
  const bool known = system_status(one.fd, "", &status, AT_EMPTY_PATH) == 0 && ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) == 0;
  if (known) one.base_time = status.st_mtim;
  one.base_is_sure = known && (now.tv_sec - status.st_mtim.tv_sec) * 1'000'000'000 + now.tv_nsec - status.st_mtim.tv_nsec > moment_ns;
  one.base = copy_of(one);
  if (one.base == 0) settle(one, false);
}

void attach(Updated& one, Name& name) {
  if (one.name == &name) return;
  drop_out_of_sight(name);
  if (one.name) one.name->set_in_sight();
  one.name = &name;
  name.set_out_of_sight(one.fd, Instead::updated);
}

// Empty. What the program has open of the same file already is about it too. Null: it cannot be made.
Updated* begin_update(const char* path, Name& name, std::int64_t identity) {
  if (Updated* one = find(identity)) {
    attach(*one, name);
    if (one->opened != 0) close_by_system(one->opened);
    one->opened = 0;
    return ::syscall(SYS_ftruncate, one->fd, 0) == 0 ? one : nullptr;
  }
  Updated* one = find_free();
  struct stat status;
  if (!one || !put_from_root(path, one->path)) return nullptr;
  drop_out_of_sight(name);
  if (!make_out_of_sight(path, name) || system_status(name.out_of_sight, "", &status, AT_EMPTY_PATH) != 0) return nullptr;
  one->device = status.st_dev;
  one->inode = status.st_ino;
  one->fd = name.out_of_sight;
  one->name = &name;
  one->identity = identity;
  one->is_gone = identity_at(path) != identity || system_status(AT_FDCWD, path, &one->in_sight, 0) != 0;
  if (!one->is_gone) ::syscall(SYS_fchmod, one->fd, (one->in_sight.st_mode & 07777) | S_IRUSR | S_IWUSR);
  name.instead = Instead::updated;
  return one;
}

// Nothing can have been written since its base was made: its time does not tell what was written in the same moment, nor what by a mapping.
bool is_as_its_base(const Updated& one) {
  struct stat status;
  if (one.base == 0 || !one.base_is_sure || system_status(one.fd, "", &status, AT_EMPTY_PATH) != 0) return false;
  const bool same = status.st_size == size_of(one.base) && status.st_mtim.tv_sec == one.base_time.tv_sec && status.st_mtim.tv_nsec == one.base_time.tv_nsec;
  return same && !is_mapped(one.fd);
}

// What it contains now, the predecessors had come to. False: it is in sight now.
bool end_beginning(Updated& one) {
  if (is_as_its_base(one)) return true;
  if (one.base != 0) close_by_system(one.base);
  one.base = 0;
  if (is_last_call) make_base(one);
  return one.fd != 0;
}

// As many bytes as that, those that it has not got yet as in the file.
bool resize(Updated& one, int file, std::int64_t bytes) {
  for (const int to : {one.fd, one.opened}) {
    if (!copy(file, to, size_of(to), bytes)) return false;
  }
  return true;
}

// Another file has the name of what the run before has made: on the same host, and where that cannot have been left by an incarnation which was killed in its replay.
bool is_replaced(const Name& name) {
  FileState state;
  return process.recording.is_first_host() && !process.recording.replay_file(FileStep::in_sight, name.hash, 0, state) && !is_left_to_processes(name);
}

// What it contained is not known: it is taken to be what it contains now, which is checked when it is settled. Others' parts may differ, which this rank did not read then.
bool update_copy(const char* path, Name& name, const FileState& before, std::int64_t identity) {
  struct stat status;
  const int file = move_apart(open_by_system(path, O_RDONLY));
  if (file < 0) return false;
  const bool fits = system_status(file, "", &status, AT_EMPTY_PATH) == 0 && status.st_size >= before.bytes && status.st_blocks * 512 <= copy_bytes_max;
  Updated* one = find(identity);
  bool done = fits;
  if (one && one->opened != 0) {
    attach(*one, name);
    done = done && resize(*one, file, before.bytes);
  } else {
    one = done ? begin_update(path, name, identity) : nullptr;
    done = one && copy(file, one->fd, 0, before.bytes) && (one->opened = copy_of(*one)) != 0;
  }
  close_by_system(file);
  if (one && !done) drop(*one);
  return done && end_beginning(*one);
}

}  // namespace

std::int64_t identity_at(const char* path) { return identity_of(AT_FDCWD, path, 0); }

void note_update(const char* path) {
  Name* name = name_of(hash_of(path));
  if (!name) return;
  const unsigned occurrence = name->count(FileStep::updated)++;
  FileState known;
  if (process.recording.replay_file(FileStep::updated, name->hash, occurrence, known)) return;
  const FileState contents = contents_of(path);
  if (contents.bytes > 0) keep(path, *name, contents);
  process.recording.record_file(FileStep::updated, name->hash, {contents.changed_ns, identity_at(path)});
}

bool write_out_of_sight(const char* path, Name& name, std::int64_t identity) {
  if (name.instead == Instead::appended && is_in_use(name.out_of_sight)) return cut_appended(name, 0, false) == 0;
#ifdef HOLDFAST_MUTATE_EMPTY_AGAIN
  return false;
#endif
  FileState state;
  struct stat status;
  if (name.made_here || identity == 0 || process.recording.replay_file(FileStep::seen, name.hash, 0, state)) return false;
  const bool there = system_status(AT_FDCWD, path, &status, 0) == 0, still = there && identity_at(path) == identity;
  if (still && status.st_nlink != 1) return false;
  bool gone = !still && (there ? is_replaced(name) : others_have_removed(path));
#ifdef HOLDFAST_MUTATE_WRITE_ALL_AGAIN
  gone = false;
#endif
  Updated* one = still || gone ? begin_update(path, name, identity) : nullptr;
  return one && end_beginning(*one);
}

Update update_again(const char* path, Name& name, const FileState& before, const FileState& opened) {
  const std::int64_t identity = opened.changed_ns;
  FileState seen;
  if (name.made_here) return Update::in_sight;
  if (before.bytes < 0 && process.recording.replay_file(FileStep::seen, name.hash, 0, seen)) return Update::other;
  const bool still = identity_at(path) == identity;
  if (before.bytes < 0 && !still && !(is_there(path) ? is_replaced(name) : others_have_removed(path))) return Update::other;
  if (name.instead == Instead::updated && before.bytes >= 0) {
    const FileState recorded{before.bytes, opened.bytes};
    if (contents_of(Where(path).path()) == recorded) return Update::out_of_sight;
  }
  const KeptPiece contents{name.hash, before.bytes, opened.bytes, 0};
  if (before.bytes <= 0 || is_kept(contents)) {
    Updated* one = begin_update(path, name, identity);
    if (!one || (before.bytes > 0 && !write_kept(one->fd, contents))) refuse(path);
    return end_beginning(*one) ? Update::out_of_sight : Update::in_sight;
  }
  if (still && dates_of(path) == before) return Update::in_sight;
  return still && update_copy(path, name, before, identity) ? Update::out_of_sight : Update::other;
}

void drop_if_closed(Name& name) {
  Updated& one = *find(&name);
  const bool comes = comes_again(name, FileStep::updated);
  if (!comes && !is_last_call && one.opened == 0 && !is_in_use(one.fd)) drop(one);
}

const struct stat* in_sight_of_updated(dev_t device, ino_t inode) {
  for (const Updated& one : all) {
    if (one.fd != 0 && !one.is_gone && one.inode == inode && one.device == device) return &one.in_sight;
  }
  return nullptr;
}

bool is_gone(const Name& name) { return find(&name)->is_gone; }

void leave_updated(Name& name) {
  Updated& one = *find(&name);
  one.name = nullptr;
  name.set_in_sight();
  if (one.opened == 0 && !is_in_use(one.fd)) drop(one);
}

void forget_updated(const Name& name) {
  for (Updated& one : all) {
    if (one.fd != 0 && hash_of(one.path) == name.hash) one.is_gone = true;
  }
}

void follow_renamed_updates(const char* from, const char* to) {
  const std::uint64_t hash = hash_of(from);
  for (Updated& one : all) {
    const char* rest = one.fd != 0 && !one.is_gone ? rest_below(one.path, hash) : nullptr;
    if (!rest) continue;
    if (!put_renamed(to, rest, one.path)) refuse(one.path);
    if (!one.name) continue;
    if (!move_out_of_sight(*one.name, one.path)) refuse(one.path);
    one.name = name_of(hash_of(one.path));
  }
}

bool is_anything_updated() {
  for (const Updated& one : all) {
    if (one.fd != 0 && !one.is_gone) return true;
  }
  return false;
}

static bool is_much() {
  constexpr std::int64_t much_bytes = 4 << 20;
  std::int64_t bytes = 0;
  for (const Updated& one : all) {
    if (one.fd != 0 && !one.is_gone) bytes += size_of(one.fd);
  }
  return bytes > much_bytes;
}

void begin_last_call(wire::ReplayEnd end) {
  if (end == wire::ReplayEnd::events_before && is_much()) return;
  const bool again = end == wire::ReplayEnd::events || end == wire::ReplayEnd::events_before;
  if (is_last_call && !again) return;
  is_last_call = true;
  begin_last_call_appended();
  for (Updated& one : all) {
    if (one.fd == 0 || one.is_gone) continue;
    const bool comes = one.name && is_opened_again(*one.name);
    if (!comes && one.opened == 0 && !is_in_use(one.fd)) drop(one);
    else end_beginning(one);
  }
}

void settle_updated(const Name& name) {
  if (Updated* one = name.instead == Instead::updated ? find(&name) : nullptr) settle(*one, false);
}

void settle_updates_below(const char* path) {
  const std::uint64_t hash = hash_of(path);
  for (Updated& one : all) {
    if (one.fd != 0 && rest_below(one.path, hash)) settle(one, false);
  }
}

void settle_updates(bool fills) {
  for (Updated& one : all) {
    if (one.fd != 0) settle(one, fills);
  }
}

}  // namespace hf::recorder
