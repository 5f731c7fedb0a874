#include "recorder/file_steps.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/appended.hpp"
#include "recorder/closings.hpp"
#include "recorder/contents.hpp"
#include "recorder/gone.hpp"
#include "recorder/kept.hpp"
#include "recorder/looks.hpp"
#include "recorder/made.hpp"

namespace hf::recorder {
namespace {

FileState state_of(const char* name, Use use) {
  const Where where(name);
  const char* path = where.path();
  if (!use.writes) return contents_of(path);
  struct stat status;
  if (system_status(AT_FDCWD, path, &status, 0) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec};
}

// As it was used in the run before, which found it as it was `before`.
Found use_again(const char* path, Use use, Name& name, std::uint32_t occurrence, const FileState& before) {
  if (before.bytes < 0 && !use.creates) return Found::absent;
  if (name.is_appended && use.reads && !fill_appended(name)) refuse(path);
  if (name.is_written_over && before.bytes < 0) ::ftruncate(name.out_of_sight, 0);  // it was removed, and begins anew
  const bool is_own = name.made_here || name.is_written_over;
#ifdef HOLDFAST_MUTATE_OWN_UNSEEN
  if (is_own) return Found::there;
#endif
  if (name.is_appended || (is_own && use.writes)) return Found::there;
  drop_kept(name);
  const FileState now = state_of(path, use);
  if (before.bytes == now.bytes && before.changed_ns == now.changed_ns) return Found::there;
  if (is_own && before.bytes < 0) return Found::there;
  if (use.appends && append_out_of_sight(path, name, before.bytes < 0 ? 0 : before.bytes)) {
    if (use.reads && !fill_appended(name)) refuse(path);
    return Found::there;
  }
  if (before.bytes < 0) {
    // The run before made it, by this call.
    if (use.writes && (::syscall(SYS_truncate, path, 0) == 0 || errno == ENOENT)) name.made_here = true;
    return Found::there;
  }
  if (!use.writes && was_unread(name, occurrence)) return Found::unread;
  if (!use.writes && make_kept_again(path, name, before)) return Found::there;
  refuse(path);
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

bool is_the_same(const char* path) {
  const FileState there = contents_of(path), out_of_sight = contents_of(Where(path).path());
  return there.bytes == out_of_sight.bytes && there.changed_ns == out_of_sight.changed_ns;
}

void refuse(const char* path) {
  ::fprintf(stderr,
            "holdfast: this rank cannot be recovered: %s was changed after the run before had opened it, so that it would be read "
            "or appended to differently now (docs/recorder.md, Files)\n",
            path);
  ::_exit(1);
}

bool is_ordinary(const char* path) {
  struct stat status;
  return !is_of_system(path) && (system_status(AT_FDCWD, path, &status, 0) != 0 || S_ISREG(status.st_mode));
}

Used use(const char* path, Use use) {
  Name* name = name_of(hash_of(path));
  if (!name) return {};
  const std::uint32_t occurrence = name->count(FileStep::used)++;
  FileState before;
  if (process.recording.replay_file(FileStep::used, name->hash, occurrence, before)) return {use_again(path, use, *name, occurrence, before), name, occurrence};
  settle(path);
  if (is_changed(path, *name) && has_had_children()) note_changed(path);
  drop_kept(*name);
  if (name->is_written_over && (use.writes || !is_the_same(path))) drop_out_of_sight(*name);
  const FileState now = state_of(path, use);
  if (!use.writes) keep_if_young(path, *name, now);
  process.recording.record_file(FileStep::used, name->hash, now);
  if (now.bytes < 0 && use.creates && use.writes) name->made_here = true;
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

bool comes_again(const Name& name, FileStep step) {
  FileState state;
  return process.recording.replay_file(step, name.hash, name.count(step), state);
}

bool is_made_here(const char* path) {
  Name* name = name_of(hash_of(path));
  return name && name->made_here;
}

static void note_once(FileStep step, const char* path) {
  Name* name = name_of(hash_of(path));
  if (!name || name->count(step)++ != 0) return;
  FileState state;
  if (!process.recording.replay_file(step, name->hash, 0, state)) process.recording.record_file(step, name->hash, {0, 0});
}

void keep_in_sight(const char* path) { note_once(FileStep::in_sight, path); }

void note_changed(const char* path) { note_once(FileStep::changed, path); }

void forget_out_of_sight(const char* path) {
  if (Name* name = name_of(hash_of(path))) drop_out_of_sight(*name);
}

void mark_made(const char* path) {
  if (Name* name = name_of(hash_of(path))) name->made_here = true;
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
  drop_out_of_sight(*name);
}

}  // namespace hf::recorder
