// What the program does to files by itself. A rank that starts again does it again, which is right for a file that it writes from its
// beginning; what has been done and cannot be done twice (a file renamed, a directory made) is taken as done; what would read or append to
// something else than before ends the job, naming the file. docs/recorder.md.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "recorder/aside.hpp"
#include "recorder/kept.hpp"
#include "recorder/merge.hpp"
#include "recorder/names.hpp"
#include "recorder/settling.hpp"
#include "recorder/updates.hpp"

namespace hf::recorder {

// What main-thread code of the program does in the directory in which names are looked up by the process, or by a name that needs none.
inline bool is_plain(const void* caller, int directory, const char* path) {
  return is_name(path) && (directory == AT_FDCWD || path[0] == '/') && process.records_in_main_thread(caller);
}

// These are called aside: what is to be known about a file differs in a replay, and leaves nothing on the program's stack.
bool is_ordinary(const char* path);  // not files whose contents are the system's
bool is_there(const char* path);
bool is_directory_there(const char* path);  // in which it is
// The run before has made it, nothing of this rank's has renamed it, and it is gone from its directory.
bool others_have_removed(const char* path);
bool others_have_replaced(const char* path, std::int64_t identity);  // what the run before has made, with that identity, and has not removed or renamed, is another one now
bool starts_processes();  // this rank, in the run before
bool is_left_to_processes(const Name& name);  // this rank has removed it, and has started processes, which may have read it before
bool comes_again(const Name& name, FileStep step);  // the run before has done it once more with the file
bool is_opened_again(const Name& name);  // by the run before, or was about to be
bool is_made_here(const char* path);  // Name::made_here
// It is none of an earlier job, run or rank that anybody would miss: made by this incarnation, though perhaps in another thread or by another name; since it began, which
// may have been by a process that it has started; or a socket, a pipe, or below /dev.
bool is_new(const char* path);
bool is_made_now(const char* path);  // by this incarnation, as far as that is known without asking when it began
bool is_older(const char* path);     // than the rank, as is known of what its first incarnation finds
void mark_made(const char* path);
void mark_made_of(const char* from, const char* path);  // by giving it that name, instead of `from`
void forget_out_of_sight(const char* path);
void note_passed_on(const char* path);
void follow_made(const char* from, const char* to);  // what is out of sight because its directory is gone
void mark_gone(const char* path, bool done = true);  // `done`: by this incarnation too

int make_directory(const char* path, mode_t mode);  // directories.cpp: the system's

// How a file is opened.
struct Way {
  bool reads, writes, creates, empties;
  bool appends;  // all that it writes
  bool exclusive;
  bool updates() const { return writes && !appends && !empties; }  // at places of it
};
Way way_of(int flags);
Way way_of(const char* mode);  // of a stream
enum class Found {
  there,
  absent,  // it was not there in the run before, and is not there
  unread,  // it is another one than in the run before, which did not read it
};
struct Used {
  Found found = Found::there;
  const Name* name = nullptr;
  std::uint32_t occurrence = 0;
};
// The file is opened for what it contains: to be read, or changed.
Used use(const char* path, Way way);
[[noreturn]] void refuse(const char* path);  // it cannot be used as in the run before: the job ends

// A step that has its effect once, and repeated fails with `done_already`. `acts_on`: the file that must be there for it, or must not.
struct Once {
  FileStep step;
  std::uint64_t hash;
  int done_already;
  const char* acts_on;
  bool after_success, after_failure;  // whether it is tried again, where the run before had come to its end
  bool spares_newer = false;          // not where it was done to a file older than the rank: what is there now is another one
  const char* overwrites = nullptr;   // the name of another file, which it replaces
  unsigned occurrence = 0;            // these are known where it is tried, and then
  bool begun = false, ended = false;  // by the run before
  bool overwrote = false;             // `overwrites` was there when the run before began
};

// It ends as it ended in the run before.
template <class Do>
int do_once_aside(Once& once, Do what) {
  Name* name = name_of(once.hash);
  if (!name) return what();
  const unsigned occurrence = once.occurrence = name->count(once.step)++;
  const FileStep end = end_of(once.step);
  constexpr std::int64_t older = 1, overwrote = 2;
  FileState before{is_there(once.acts_on) ? 0 : -1, 0}, ended;
  if (once.spares_newer && is_older(once.acts_on)) before.changed_ns |= older;
  if (once.overwrites && is_there(once.overwrites)) before.changed_ns |= overwrote;
  once.begun = process.recording.replay_file(once.step, once.hash, occurrence, before);
  once.ended = once.begun && process.recording.replay_file(end, once.hash, occurrence, ended);
  if (!once.begun) {
    if (once.done_already == ENOENT) keep_if_read(once.acts_on);
    settle(once.acts_on);
    if (once.overwrites) keep_if_read(once.overwrites);
    process.recording.record_file(once.step, once.hash, before);
    process.await_stable();
  }
  if (once.begun && once.spares_newer && (before.changed_ns & older) != 0) once.after_success = false;
  once.overwrote = (before.changed_ns & overwrote) != 0;
  int code = 0;
  if (once.ended) {
    code = static_cast<int>(ended.bytes);
    if (code == 0 ? once.after_success : once.after_failure) what();
  } else {
    code = what() < 0 ? errno : 0;
    const bool could = (before.bytes < 0) == (once.done_already == EEXIST);
    if (once.begun && code == once.done_already && could) code = 0;
    const bool makes = (once.step == FileStep::made || once.step == FileStep::directory_made) && code == 0;
    process.recording.record_file(end, once.hash, {code, makes ? identity_at(once.acts_on) : 0});
  }
  if (code == 0) return 0;
  errno = code;
  return -1;
}

bool is_still(const Once& once);  // what is there is what the run before has made
// `make` makes it, and returns -1 where it is there.
template <class Make>
int make_once(FileStep step, const char* path, Make make) {
  if (!is_name(path)) return make();
  return aside([=] {
    const bool harmless = step == FileStep::directory_made;  // and another host may not have it
    Once once{step, hash_of(path), EEXIST, path, true, harmless};
    bool made = false;
    const int result = do_once_aside(once, [&] {
      const int outcome = make();
      made = outcome >= 0;
      return outcome;
    });
    // Of a file that is there already, who opens it says; of a directory, which one it is.
    if (made || (result == 0 && step != FileStep::made && !is_still(once))) mark_made(path);
    return result;
  });
}

template <class Remove>
int remove_once(FileStep step, const char* path, Remove remove) {
  if (!is_name(path)) return remove();
  return aside([=] {
    const bool made = is_made_here(path), again = made || is_new(path);
    Once once{step, hash_of(path), ENOENT, path, again, again, !made};
    const int result = do_once_aside(once, remove);
    if (result == 0) mark_gone(path);
    return result;
  });
}

// In a replay a directory may be renamed to what the run before has made of it. One that is not this incarnation's has what others have put there since.
// rename(again): the run before has done it.
template <class Rename>
int rename_or_merge(const char* from, const char* to, const Once& once, Rename rename) {
  const bool stays = once.ended && is_directory(from) && !is_made_now(from);
  if (stays) make_directory(to, S_IRWXU);
  const int result = stays ? 0 : rename(once.ended);
  const bool in_use = result != 0 && (once.ended || (once.begun && !once.overwrote)) && (errno == ENOTEMPTY || errno == EEXIST);
  if (!stays && !in_use) return result;
  merge(from, to);
  return 0;
}

template <class Rename>
int rename_once(const char* from, const char* to, Rename rename) {
  if (!is_name(from) || !is_name(to)) return rename(false);
  return aside([=] {
    const bool made = is_made_here(from);
    Once once{FileStep::renamed, hash_of(to, hash_of(from)), ENOENT, from, made || is_new(from), false, !made, to};
    keep_in_sight(from);
    note_passed_on(from);
    const int result = do_once_aside(once, [&] {
      if (!once.begun) settle_below(from);
      return rename_or_merge(from, to, once, rename);
    });
    if (result != 0) return result;
    forget_out_of_sight(to);
    follow_renamed(from, to);
    follow_made(from, to);
    note_arrival(to, once.hash, once.occurrence);
    if (once.after_success) mark_made_of(from, to);
    mark_gone(from, once.after_success);
    return result;
  });
}

int open_to_list(const void* caller, const char* path);  // files.cpp: as opendir does
int open_as_program(const char* path, int flags, mode_t mode);  // files.cpp, in the main thread
bool put_path_of(int directory, char (&path)[4096]);            // directories.cpp: of an open directory

}  // namespace hf::recorder
