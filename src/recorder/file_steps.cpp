#include "recorder/file_steps.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/appended.hpp"
#include "recorder/closings.hpp"
#include "recorder/contents.hpp"
#include "recorder/gone.hpp"
#include "recorder/handing_over.hpp"
#include "recorder/kept.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"

namespace hf::recorder {
namespace {

FileState state_of(const char* name, Way way) {
  const Where where(name);
  const char* path = where.path();
  return way.writes ? dates_of(path) : contents_of(path);
}

// It was opened to be written at places of it.
void update(const char* path, Way way, Name& name, const FileState& before) {
  FileState opened;
  // The run before had not got so far that it could change it: it is opened as it is.
  if (!process.recording.replay_file(FileStep::updated, name.hash, name.count(FileStep::updated), opened)) {
    settle(name);
    if (name.instead == Instead::updated) drop_out_of_sight(name);
    return;
  }
  const Update found = update_again(path, name, before, opened);
  if (found == Update::out_of_sight) return;
  if (name.instead == Instead::updated) drop_out_of_sight(name);
  if (found == Update::in_sight) return;
  if (before.bytes >= 0) {
    if (way.reads) refuse(path);
    return;
  }
  // The run before made it, by this call.
  if (::syscall(SYS_truncate, path, 0) == 0 || errno == ENOENT) name.made_here = true;
}

// It was opened to be added to.
void append(const char* path, Way way, Name& name, const FileState& before) {
  const std::int64_t bytes = before.bytes < 0 ? 0 : before.bytes;
  if (name.instead == Instead::appended) {
    append_again(name, bytes);
    if (way.reads && !fill_appended(name)) refuse(path);
  }
  if (name.instead == Instead::appended || name.made_here) return;
  if (name.instead == Instead::updated && size_of(name.out_of_sight) == bytes) return;
  drop_kept(name);
  if (state_of(path, way) == before && !others_have_removed(path)) return;
  if (!append_out_of_sight(path, name, bytes) || (way.reads && !fill_appended(name))) refuse(path);
}

// It was opened to be read.
Found read(const char* path, Way way, Name& name, std::uint32_t occurrence, const FileState& before) {
  if (name.instead == Instead::appended && !fill_appended(name)) refuse(path);
#ifdef HOLDFAST_MUTATE_OWN_UNSEEN
  if (name.made_here || name.instead == Instead::updated) return Found::there;
#endif
  drop_kept(name);
  if (state_of(path, way) == before) return Found::there;
  if (name.instead == Instead::updated && contents_of(path) == before) {  // with what others have written to it
    drop_out_of_sight(name);
    return Found::there;
  }
  if (was_unread(name, occurrence)) return Found::unread;
  if (make_kept_again(path, name, before)) return Found::there;
  refuse(path);
}

// As it was used in the run before, which found it as it was `before`.
Found use_again(const char* path, Way way, Name& name, std::uint32_t occurrence, const FileState& before) {
  if (before.bytes < 0 && !way.creates) return Found::absent;
  if (!way.writes) return read(path, way, name, occurrence, before);
  if (way.appends) append(path, way, name, before);
  else update(path, way, name, before);
  return Found::there;
}

// When the file was made; not when it was last changed, which a rank that lives may do at any time.
struct Making {
  bool there = false, is_data = false;
  bool is_dated = false, since = false;  // the system knows; it was since this incarnation began
  bool by_this = false;                  // this incarnation, by whatever name
};

Making making_of(const char* path) {
  struct statx status;
  if (system_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BTIME, &status) != 0) return {};
  const bool is_data = !is_of_system(path) && (S_ISREG(status.stx_mode) || S_ISDIR(status.stx_mode) || S_ISLNK(status.stx_mode));
  const timespec& began = process.began();
  const statx_timestamp& made = status.stx_btime;
  const bool since = made.tv_sec > began.tv_sec || (made.tv_sec == began.tv_sec && made.tv_nsec >= began.tv_nsec);
  return {true, is_data, (status.stx_mask & STATX_BTIME) != 0, since, was_made(status)};
}

// By somebody else, since this incarnation has closed it.
bool is_changed(const char* path, const Name& name) {
  struct stat status;
  return name.made_here && name.closed.inode != 0 && system_status(AT_FDCWD, path, &status, 0) == 0 && name.closed != closed_file_of(status);
}

}  // namespace

void refuse(const char* path) {
  ::fprintf(stderr,
            "holdfast: this rank cannot be recovered: %s was changed after the run before had opened it, so that it would be read "
            "or appended to differently now (docs/recorder.md, Files)\n",
            path);
  ::_exit(1);
}

Way way_of(int flags) {
  const int access = flags & O_ACCMODE;
  return {access != O_WRONLY, access != O_RDONLY, (flags & O_CREAT) != 0, (flags & O_TRUNC) != 0, (flags & O_APPEND) != 0, (flags & O_EXCL) != 0};
}

Way way_of(const char* mode) {
  const bool both = strchr(mode, '+');
  return {mode[0] == 'r' || both, mode[0] != 'r' || both, mode[0] != 'r', mode[0] == 'w', mode[0] == 'a', strchr(mode, 'x') != nullptr};
}

bool is_ordinary(const char* path) {
  struct stat status;
  return !is_of_system(path) && (system_status(AT_FDCWD, path, &status, 0) != 0 || S_ISREG(status.st_mode));
}

Used use(const char* path, Way way) {
  Name* name = name_of(hash_of(path));
  if (!name) return {};
  const std::uint32_t occurrence = name->count(FileStep::used)++;
  FileState before;
  if (process.recording.replay_file(FileStep::used, name->hash, occurrence, before)) return {use_again(path, way, *name, occurrence, before), name, occurrence};
  settle(path);
  if (is_changed(path, *name) && has_had_children()) note_seen(*name);
  drop_kept(*name);
  const FileState now = state_of(path, way);
  if (!way.writes) keep_if_young(path, *name, now);
  process.recording.record_file(FileStep::used, name->hash, now);
  if (now.bytes < 0 && way.creates && way.writes) name->made_here = true;
  return {Found::there, name, occurrence};
}

bool is_new(const char* path) {
  const Making making = making_of(path);
  if (!making.there || !making.is_data || making.by_this) return making.there;
#ifdef HOLDFAST_MUTATE_MADE_BY_ANYBODY
  return making.is_dated && making.since;
#else
  return making.is_dated && making.since && has_had_children();
#endif
}

bool is_made_now(const char* path) { return making_of(path).by_this; }

bool is_older(const char* path) {
  const Making making = making_of(path);
  return making.is_data && making.is_dated && !making.since && process.recording.is_first();
}

bool is_there(const char* path) {
  struct stat status;
  return system_status(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// By its name, or by that of a directory which it is in: this incarnation has made it, or the run before has renamed it, or it may have been done otherwise.
static bool may_have_moved(const char* path) {
  const Name* name = name_of(hash_of(path));
  if (!name || name->made_here) return true;
  FileState state;
  for (const FileStep step : {FileStep::in_sight, FileStep::seen, FileStep::directory_removed}) {
    if (process.recording.replay_file(step, name->hash, 0, state)) return true;
  }
  return is_left_to_processes(*name);
}

bool starts_processes() {
  FileState state;
  return process.recording.replay_file(FileStep::seen, any_process, 0, state);
}

bool is_left_to_processes(const Name& name) {
  FileState state;
  return process.recording.replay_file(FileStep::removed, name.hash, 0, state) && starts_processes();
}

// Its name from the root, without a / at its end.
static bool put_plain(const char* path, char (&to)[4096]) {
  if (!put_from_root(path, to)) return false;
  for (std::size_t length = strlen(to); length > 1 && to[length - 1] == '/'; --length) to[length - 1] = 0;
  return true;
}

// Or a directory that it is in. `plain` is overwritten.
static bool may_any_have_moved(char* plain) {
  for (char* slash; (slash = strrchr(plain, '/')) && slash[1]; *slash = 0) {
    if (may_have_moved(plain)) return true;
  }
  return false;
}

static bool is_above_there(const char* plain) {
  char above[4096];
  const auto length = static_cast<std::size_t>(strrchr(plain, '/') - plain);
  memcpy(above, plain, length);
  above[length] = 0;
  return length == 0 || is_there(above);
}

bool others_have_removed(const char* path) {
  char plain[4096];
  if (!process.recording.is_first_host() || is_there(path) || !put_plain(path, plain)) return false;  // on another host it may never have been
  return is_above_there(plain) && !may_any_have_moved(plain);
}

bool is_directory_there(const char* path) {
  char plain[4096];
  return put_plain(path, plain) && is_above_there(plain);
}

bool others_have_replaced(const char* path, std::int64_t identity) {
  char plain[4096];
  if (!process.recording.is_first_host() || identity == 0 || !is_there(path) || identity_at(path) == identity) return false;
  return put_plain(path, plain) && !may_any_have_moved(plain);
}

bool is_still(const Once& once) {
  FileState ended;
  return once.ended && process.recording.replay_file(end_of(once.step), once.hash, once.occurrence, ended) && ended.changed_ns != 0 &&
         identity_at(once.acts_on) == ended.changed_ns;
}

bool comes_again(const Name& name, FileStep step) {
  FileState state;
  return process.recording.replay_file(step, name.hash, name.count(step), state);
}

bool is_opened_again(const Name& name) {
  FileState state;
  const bool opens = process.recording.replay_file(FileStep::opening, name.hash, name.count(FileStep::written), state);
  return opens || comes_again(name, FileStep::used) || comes_again(name, FileStep::written);
}

bool is_made_here(const char* path) {
  Name* name = name_of(hash_of(path));
  return name && name->made_here;
}

static void note_once(FileStep step, Name& name) {
  if (name.count(step)++ != 0) return;
  FileState state;
  if (!process.recording.replay_file(step, name.hash, 0, state)) process.recording.record_file(step, name.hash, {0, 0});
}

void keep_in_sight(const char* path) {
  if (Name* name = name_of(hash_of(path))) note_once(FileStep::in_sight, *name);
}

void note_entered(const char* path) {
  char plain[4096];
  if (!put_plain(path, plain)) return;
  for (char* slash; (slash = strrchr(plain, '/')) && slash[1]; *slash = 0) {
    if (Name* name = name_of(hash_of(plain))) note_once(FileStep::entered, *name);
  }
}

void note_seen(Name& name) {
#ifndef HOLDFAST_MUTATE_SEEN_BY_NOBODY
  note_once(FileStep::seen, name);
#endif
}

void forget_out_of_sight(const char* path) {
  Name* name = name_of(hash_of(path));
  if (!name) return;
  settle_no_more(*name);
  drop_out_of_sight(*name);
}

void note_passed_on(const char* path) {
  if (Name* name = name_of(hash_of(path))) note_once(FileStep::passed_on, *name);
}

void follow_made(const char* from, const char* to) {
  Name* name = name_of(hash_of(from));
  if (!name || name->out_of_sight == 0 || name->instead != Instead::made || !move_out_of_sight(*name, to)) return;
  if (Name* is = name_of(hash_of(to))) drop_if_over(*is);
}

void mark_made(const char* path) {
  Name* name = name_of(hash_of(path));
  if (!name) return;
  name->made_here = true;
  if (name->instead == Instead::directory) drop_out_of_sight(*name);
}

void mark_made_of(const char* from, const char* path) {
  const Name* before = name_of(hash_of(from));
  mark_made(path);
  if (Name* name = name_of(hash_of(path)); name && before) name->closed = before->closed;
}

void mark_gone(const char* path, bool done) {
  Name* name = name_of(hash_of(path));
  if (!name) return;
  if (done) name->made_here = false;
  settle_no_more(*name);
  drop_out_of_sight(*name);
}

}  // namespace hf::recorder
