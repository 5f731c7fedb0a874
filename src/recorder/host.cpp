// What a program learns of the host on which it runs, and of its file systems.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "recorder/aside.hpp"

extern "C" long __sysconf(int) noexcept;  // sysconf, under a name that needs no search: memory allocators call it before anything else

namespace hf::recorder {
namespace {

int (*next_getcpu)(unsigned*, unsigned*);
int (*next_sysinfo)(struct sysinfo*);
int (*next_getloadavg)(double*, int);
int (*next_statfs)(const char*, struct statfs*);
int (*next_fstatfs)(int, struct statfs*);
int (*next_statvfs)(const char*, struct statvfs*);
int (*next_fstatvfs)(int, struct statvfs*);

// What a call said: its result, its error, and what it wrote.
template <class Value>
struct Answer {
  std::int32_t result, error;
  Value value;
};

// `ask` has the system write a value.
template <class Value, class Ask>
int recorded(const void* caller, Call call, const char* function, Value* to, Ask ask) {
  if (!process.records(caller)) return ask(to);
  return aside([=] {
    LibcOperation operation(function);
    if (!operation.records()) return ask(to);
    Answer<Value> answer;
    memset(&answer, 0, sizeof answer);
    std::size_t bytes = sizeof answer;
    if (!process.recording.replay_bytes(call, &answer, bytes)) {
      answer.result = ask(&answer.value);
      answer.error = answer.result < 0 ? errno : 0;
      process.recording.record_bytes(call, &answer, sizeof answer);
    }
    if (answer.result >= 0) *to = answer.value;
    else errno = answer.error;
    return static_cast<int>(answer.result);
  });
}

struct Processor {
  unsigned number, node;
};
int find_processor(const void* caller, Processor& processor) {
  return recorded(caller, Call::processor, "getcpu", &processor,
                  [](Processor* to) { return next(next_getcpu, "getcpu")(&to->number, &to->node); });
}

long ask_for_available_pages() { return __sysconf(_SC_AVPHYS_PAGES); }
long find_available_pages(const void* caller) {
  if (!process.records(caller)) return ask_for_available_pages();
  return aside([] {
    LibcOperation operation("get_avphys_pages");
    if (!operation.records()) return ask_for_available_pages();
    std::uint64_t value = 0;
    if (!process.recording.replay_value(Call::available_pages, value)) {
      value = static_cast<std::uint64_t>(ask_for_available_pages());
      process.recording.record_value(Call::available_pages, value);
    }
    return static_cast<long>(value);
  });
}

struct Load {
  double average[3];
};

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

static_assert(sizeof(struct statfs) == sizeof(struct statfs64) && sizeof(struct statvfs) == sizeof(struct statvfs64), "one layout under both names");

HOLDFAST_REPLACES int sched_getcpu() noexcept {
  Processor processor{};
  return find_processor(CALLER, processor) < 0 ? -1 : static_cast<int>(processor.number);
}

HOLDFAST_REPLACES int getcpu(unsigned* number, unsigned* node) noexcept {
  Processor processor{};
  const int result = find_processor(CALLER, processor);
  if (result == 0 && number) *number = processor.number;
  if (result == 0 && node) *node = processor.node;
  return result;
}

HOLDFAST_REPLACES int sysinfo(struct sysinfo* to) noexcept {
  return recorded(CALLER, Call::system_info, "sysinfo", to, next(next_sysinfo, "sysinfo"));
}

HOLDFAST_REPLACES long get_avphys_pages() noexcept { return find_available_pages(CALLER); }

HOLDFAST_REPLACES long sysconf(int name) noexcept { return name == _SC_AVPHYS_PAGES ? find_available_pages(CALLER) : __sysconf(name); }

HOLDFAST_REPLACES int getloadavg(double* to, int count) noexcept {
  Load load{};
  const int wanted = count < 3 ? count : 3;
  const int result = recorded(CALLER, Call::load, "getloadavg", &load, [=](Load* l) { return next(next_getloadavg, "getloadavg")(l->average, wanted); });
  for (int i = 0; i < result; ++i) to[i] = load.average[i];
  return result;
}

#define HOLDFAST_REPLACES_FILE_SYSTEM(kind, suffix)                                                                              \
  HOLDFAST_REPLACES int kind##suffix(const char* path, struct kind##suffix* to) noexcept {                                      \
    return recorded(CALLER, Call::file_system, #kind, reinterpret_cast<struct kind*>(to),                                       \
                    [=](struct kind* s) { return next(next_##kind, #kind)(path, s); });                                         \
  }                                                                                                                              \
  HOLDFAST_REPLACES int f##kind##suffix(int fd, struct kind##suffix* to) noexcept {                                             \
    return recorded(CALLER, Call::file_system, "f" #kind, reinterpret_cast<struct kind*>(to),                                   \
                    [=](struct kind* s) { return next(next_f##kind, "f" #kind)(fd, s); });                                      \
  }
HOLDFAST_REPLACES_FILE_SYSTEM(statfs, )
HOLDFAST_REPLACES_FILE_SYSTEM(statfs, 64)
HOLDFAST_REPLACES_FILE_SYSTEM(statvfs, )
HOLDFAST_REPLACES_FILE_SYSTEM(statvfs, 64)
