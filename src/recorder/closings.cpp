#include "recorder/closings.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>

#include "recorder/appended.hpp"
#include "recorder/aside.hpp"
#include "recorder/gone.hpp"
#include "recorder/looks.hpp"

namespace hf::recorder {
namespace {

int (*next_close)(int);
int (*next_fclose)(FILE*);
int (*next_fileno)(FILE*);
int (*next_fileno_unlocked)(FILE*);

struct Watched {
  FILE* stream;
  std::uint64_t name;
  std::uint32_t occurrence;
  FileStep step;
  bool loud;  // somebody has asked for its descriptor
};
constexpr int watched_max = 1024;  // of others nothing is recorded

// Written by the main thread, but for a stream that another one closes.
Watched watched[watched_max];
int watched_end;

struct Descriptor {
  std::uint64_t name;  // 0: none
  std::uint32_t occurrence;
  FileStep step;
};
constexpr int descriptors_max = 1024;
Descriptor descriptors[descriptors_max];

Watched* find(FILE* stream) {
  const int end = __atomic_load_n(&watched_end, __ATOMIC_RELAXED);
  for (int i = 0; i < end; ++i) {
    if (__atomic_load_n(&watched[i].stream, __ATOMIC_RELAXED) == stream) return &watched[i];
  }
  return nullptr;
}

void note_unread(const Watched& closed) {
  FileState none;
  const FileStep step = numbered(FileStep::unread, closed.occurrence);
  if (!process.recording.replay_file(step, closed.name, 0, none)) process.recording.record_file(step, closed.name, {});
}

void settle_closed(FileStep step, std::uint64_t hash, std::uint32_t occurrence) {
  Name* name = name_of(hash);
  if (!name) return;
  if (name->instead == Instead::appended && process.recording.was_closed(step, hash, occurrence)) note_added(*name);
  drop_if_over(*name);
}

void note_closed(int fd, int result) {
  const Descriptor closed = descriptors[fd];
  descriptors[fd].name = 0;
  settle_closed(closed.step, closed.name, closed.occurrence);
  if (result == 0 && closed.step != FileStep::used) process.recording.record_closed(closed.step, closed.name, closed.occurrence);
}

// The file as this rank leaves it.
void note_own(std::uint64_t hash, int fd) {
  Name* name = name_of(hash);
  struct stat status;
  if (name && system_status(fd, "", &status, AT_EMPTY_PATH) == 0) name->closed = closed_file_of(status);
}

int close_stream(FILE* stream) {
  const Watched* found = find(stream);
  const Watched closed = found ? *found : Watched{};
  forget(stream);
  const bool unread = found && closed.step == FileStep::unread && !closed.loud && __fbufsize(stream) == 0;
  const int fd = stream->_fileno;
  const bool by_descriptor = fd >= 0 && fd < descriptors_max && descriptors[fd].name != 0;  // fdopen
  const bool written = found && closed.step != FileStep::unread && closed.step != FileStep::used;
  if (written || by_descriptor) {
    ::fflush(stream);
    note_own(by_descriptor ? descriptors[fd].name : closed.name, fd);
  }
  const int result = next(next_fclose, "fclose")(stream);
  if (by_descriptor) note_closed(fd, result);
  if (found) settle_closed(closed.step, closed.name, closed.occurrence);
  if (unread) note_unread(closed);
  else if (written && result == 0) process.recording.record_closed(closed.step, closed.name, closed.occurrence);
  return result;
}

int close_descriptor(int fd) {
  if (descriptors[fd].step != FileStep::used) note_own(descriptors[fd].name, fd);
  const int result = next(next_close, "close")(fd);
  note_closed(fd, result);
  return result;
}

void mark_loud(FILE* stream) {
  if (Watched* found = find(stream)) __atomic_store_n(&found->loud, true, __ATOMIC_RELAXED);
}

}  // namespace

FILE* watch(FILE* stream, const Name* name, std::uint32_t occurrence, FileStep step) {
  if (!stream) return stream;
  forget(stream);  // of one that was closed past us
  if (!name || occurrence > looks_max) return stream;
  for (int i = 0; i < watched_max; ++i) {
    if (__atomic_load_n(&watched[i].stream, __ATOMIC_RELAXED)) continue;
    watched[i].name = name->hash;
    watched[i].occurrence = occurrence;
    watched[i].step = step;
    watched[i].loud = false;
    __atomic_store_n(&watched[i].stream, stream, __ATOMIC_RELAXED);
    if (i >= watched_end) __atomic_store_n(&watched_end, i + 1, __ATOMIC_RELAXED);
    break;
  }
  return stream;
}

int watch(int fd, const Name* name, std::uint32_t occurrence, FileStep step) {
  if (fd < 0 || fd >= descriptors_max) return fd;
  descriptors[fd] = {name ? name->hash : 0, occurrence, step};
  return fd;
}

void forget(FILE* stream) {
  if (Watched* found = find(stream)) __atomic_store_n(&found->stream, nullptr, __ATOMIC_RELAXED);
}

void note_seen_by_child() {
  if (Name* name = name_of(any_process)) note_seen(*name);
  for (const Watched& one : watched) {
    const bool written = __atomic_load_n(&one.stream, __ATOMIC_RELAXED) && (one.step == FileStep::closed || one.step == FileStep::closed_new);
    if (Name* name = written ? name_of(one.name) : nullptr) note_seen(*name);
  }
  for (const Descriptor& one : descriptors) {
    const bool written = one.name != 0 && one.step != FileStep::used;
    if (Name* name = written ? name_of(one.name) : nullptr) note_seen(*name);
  }
}

bool was_unread(const Name& name, std::uint32_t occurrence) {
  FileState none;
  return occurrence <= looks_max && process.recording.replay_file(numbered(FileStep::unread, occurrence), name.hash, 0, none);
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int fclose(FILE* stream) {
  if (!process.records_in_main_thread(CALLER)) {
    forget(stream);
    return next(next_fclose, "fclose")(stream);
  }
  return aside([=] { return close_stream(stream); });
}

HOLDFAST_REPLACES int close(int fd) {
  if (fd < 0 || fd >= descriptors_max || descriptors[fd].name == 0) [[likely]] return next(next_close, "close")(fd);
  if (process.records_in_main_thread(CALLER)) return aside([=] { return close_descriptor(fd); });
  descriptors[fd].name = 0;
  return next(next_close, "close")(fd);
}

HOLDFAST_REPLACES int fileno(FILE* stream) noexcept {
  mark_loud(stream);
  return next(next_fileno, "fileno")(stream);
}

HOLDFAST_REPLACES int fileno_unlocked(FILE* stream) noexcept {
  mark_loud(stream);
  return next(next_fileno_unlocked, "fileno_unlocked")(stream);
}
