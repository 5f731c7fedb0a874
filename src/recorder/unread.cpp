#include "recorder/unread.hpp"

#include <stdio_ext.h>

#include "recorder/aside.hpp"

namespace hf::recorder {
namespace {

int (*next_fclose)(FILE*);
int (*next_fileno)(FILE*);
int (*next_fileno_unlocked)(FILE*);

struct Watched {
  FILE* stream;
  std::uint64_t name;
  std::uint32_t occurrence;
};
constexpr int watched_max = 64;  // others are taken as read

// Written by the main thread, but for a stream that another one closes.
Watched watched[watched_max];
int watched_end;

Watched* find(FILE* stream) {
  const int end = __atomic_load_n(&watched_end, __ATOMIC_RELAXED);
  for (int i = 0; i < end; ++i) {
    if (__atomic_load_n(&watched[i].stream, __ATOMIC_RELAXED) == stream) return &watched[i];
  }
  return nullptr;
}

FileStep step_of(std::uint32_t occurrence) { return static_cast<FileStep>(static_cast<std::uint32_t>(FileStep::unread) | occurrence << look_shift); }

void note_closed(FILE* stream) {
  const Watched* found = find(stream);
  if (!found) return;
  const Watched closed = *found;
  forget(stream);
  FileState none;
  if (__fbufsize(stream) != 0 || process.recording.replay_file(step_of(closed.occurrence), closed.name, 0, none)) return;
  process.recording.record_file(step_of(closed.occurrence), closed.name, {});
}

}  // namespace

FILE* watch(FILE* stream, const Name* name, std::uint32_t occurrence) {
  if (!stream) return stream;
  forget(stream);  // of one that was closed past us
  if (!name || occurrence > looks_max) return stream;
  for (int i = 0; i < watched_max; ++i) {
    if (__atomic_load_n(&watched[i].stream, __ATOMIC_RELAXED)) continue;
    watched[i].name = name->hash;
    watched[i].occurrence = occurrence;
    __atomic_store_n(&watched[i].stream, stream, __ATOMIC_RELAXED);
    if (i >= watched_end) __atomic_store_n(&watched_end, i + 1, __ATOMIC_RELAXED);
    break;
  }
  return stream;
}

void forget(FILE* stream) {
  if (Watched* found = find(stream)) __atomic_store_n(&found->stream, nullptr, __ATOMIC_RELAXED);
}

bool was_unread(const Name& name, std::uint32_t occurrence) {
  FileState none;
  return occurrence <= looks_max && process.recording.replay_file(step_of(occurrence), name.hash, 0, none);
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int fclose(FILE* stream) {
  if (process.records_in_main_thread(CALLER)) {
    aside([=] { note_closed(stream); });
  } else {
    forget(stream);
  }
  return next(next_fclose, "fclose")(stream);
}

HOLDFAST_REPLACES int fileno(FILE* stream) noexcept {
  forget(stream);
  return next(next_fileno, "fileno")(stream);
}

HOLDFAST_REPLACES int fileno_unlocked(FILE* stream) noexcept {
  forget(stream);
  return next(next_fileno_unlocked, "fileno_unlocked")(stream);
}
