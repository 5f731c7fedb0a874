// truncate and ftruncate (file_steps.hpp). A log that this rank adds to out of sight is cut there, since the run before has cut the file itself.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/appended.hpp"
#include "recorder/file_steps.hpp"

namespace hf::recorder {
namespace {

int (*next_truncate)(const char*, off_t);
int (*next_ftruncate)(int, off_t);

constexpr std::uint64_t by_descriptor = 1;  // instead of a name's hash: the file may have another name by then

// `in_sight`: the run before may not have cut the file itself. What is updated there is cut when it is settled.
int cut_out_of_sight(Name& name, off_t bytes, bool in_sight) {
  if (name.instead == Instead::appended) return cut_appended(name, bytes, in_sight);
  return static_cast<int>(::syscall(SYS_ftruncate, name.out_of_sight, bytes));
}

// `instead`: of the file that it cuts, if that is out of sight. Others are cut again in each replay.
template <class Cut>
int cut_once(std::uint64_t hash, Name* instead, off_t bytes, Cut cut) {
  Name* counted = name_of(hash);
  if (!counted) return cut();
  constexpr FileStep end = end_of(FileStep::cut);
  const unsigned occurrence = counted->count(FileStep::cut)++;
  FileState state, ended;
  const bool begun = process.recording.replay_file(FileStep::cut, hash, occurrence, state);
  const bool known = begun && process.recording.replay_file(end, hash, occurrence, ended);
  if (known && ended.bytes != 0) {
    errno = static_cast<int>(ended.bytes);
    return -1;
  }
  if (known && hash != by_descriptor && !instead && !counted->made_here) return 0;  // others may have written to it since
  if (!begun) {
    if (instead) settle(*instead);
    process.recording.record_file(FileStep::cut, hash, {bytes, 0});
    process.await_stable();
  }
  const int result = begun && instead ? cut_out_of_sight(*instead, bytes, !known) : cut();
  if (known) return 0;
  process.recording.record_file(end, hash, {result == 0 ? 0 : errno, 0});
  return result;
}

int cut_file(const void* caller, const char* path, off_t bytes) {
  auto cut = [=] { return next(next_truncate, "truncate")(path, bytes); };
  if (!is_name(path) || !process.records_in_main_thread(caller)) return cut();
  return aside([=] {
    keep_in_sight(path);
    Name* name = name_of(hash_of(path));
    return name ? cut_once(name->hash, name->instead == Instead::appended || name->instead == Instead::updated ? name : nullptr, bytes, cut) : cut();
  });
}

int cut_descriptor(const void* caller, int fd, off_t bytes) {
  auto cut = [=] { return next(next_ftruncate, "ftruncate")(fd, bytes); };
  const long flags = ::syscall(SYS_fcntl, fd, F_GETFL);
  const bool appends = flags >= 0 && (flags & O_APPEND) != 0;
  if (!appends || !process.records_in_main_thread(caller)) return cut();
  return aside([=] { return cut_once(by_descriptor, appended_at(fd), bytes, cut); });
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int truncate(const char* path, off_t bytes) noexcept { return cut_file(CALLER, path, bytes); }
HOLDFAST_REPLACES int truncate64(const char* path, off64_t bytes) noexcept { return cut_file(CALLER, path, bytes); }
HOLDFAST_REPLACES int ftruncate(int fd, off_t bytes) noexcept { return cut_descriptor(CALLER, fd, bytes); }
HOLDFAST_REPLACES int ftruncate64(int fd, off64_t bytes) noexcept { return cut_descriptor(CALLER, fd, bytes); }
