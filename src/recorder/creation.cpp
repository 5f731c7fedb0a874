// Making threads: each gets its number before it runs (docs/threads.md).
#include <pthread.h>
#include <threads.h>

#include "recorder/process.hpp"
#include "recorder/threads.hpp"

namespace hf::recorder {
namespace {

using Start = void* (*)(void*);

// What a new thread is to run, until it has read that.
struct NewThread {
  Start start;
  thrd_start_t c11_start;
  void* argument;
  ThreadNumber number;
  bool taken;
};
constexpr int new_threads_max = 256;
NewThread new_threads[new_threads_max];

int (*next_pthread_create)(pthread_t*, const pthread_attr_t*, Start, void*);
int (*next_thrd_create)(thrd_t*, thrd_start_t, void*);

NewThread& free_place() {
  for (;;) {
    for (NewThread& place : new_threads) {
      if (!__atomic_test_and_set(&place.taken, __ATOMIC_ACQUIRE)) return place;
    }
    ::sched_yield();
  }
}

NewThread& numbered_place(Start start, thrd_start_t c11_start, void* argument) {
  NewThread& place = free_place();
  place.start = start;
  place.c11_start = c11_start;
  place.argument = argument;
  place.number = threads.number_next();
  return place;
}

// In the new thread.
NewThread take(void* given) {
  auto& place = *static_cast<NewThread*>(given);
  const NewThread what = place;
  __atomic_clear(&place.taken, __ATOMIC_RELEASE);
  self.number = what.number;
  return what;
}

void* run_thread(void* given) {
  const NewThread what = take(given);
  return what.start(what.argument);
}

int run_c11_thread(void* given) {
  const NewThread what = take(given);
  return what.c11_start(what.argument);
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Start start, void* argument) noexcept {
  auto* real = next(next_pthread_create, "pthread_create");
  if (!process.may_record()) return real(thread, attributes, start, argument);
  NewThread& place = numbered_place(start, nullptr, argument);
  const int result = real(thread, attributes, run_thread, &place);
  if (result != 0) __atomic_clear(&place.taken, __ATOMIC_RELEASE);
  return result;
}

HOLDFAST_REPLACES int thrd_create(thrd_t* thread, thrd_start_t start, void* argument) {
  auto* real = next(next_thrd_create, "thrd_create");
  if (!process.may_record()) return real(thread, start, argument);
  NewThread& place = numbered_place(nullptr, start, argument);
  const int result = real(thread, run_c11_thread, &place);
  if (result != thrd_success) __atomic_clear(&place.taken, __ATOMIC_RELEASE);
  return result;
}
