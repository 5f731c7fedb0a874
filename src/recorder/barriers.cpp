// Barriers: the last thread to come, in the order that is recorded, is the serial one. The system's choice may be another: the order of calls is
// not that in which it counts (docs/threads.md).
#include <pthread.h>

#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

int (*next_barrier_init)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
int (*next_barrier_destroy)(pthread_barrier_t*);
int (*next_barrier_wait)(pthread_barrier_t*);

struct Barrier {
  const pthread_barrier_t* at = nullptr;
  unsigned threads = 0;  // that it waits for
  unsigned come = 0;     // of this round
};
constexpr std::size_t barriers_max = 1024;
Barrier barriers[barriers_max];

// Under the lock. Null: there are too many.
Barrier* find_barrier(const pthread_barrier_t* at) {
  for (Barrier& barrier : barriers) {
    if (barrier.at == at) return &barrier;
  }
  return nullptr;
}

// Its threads may be waiting when MPI_Init_thread decides that they are ordered: those that came before count too.
void come_unordered(const pthread_barrier_t* at) {
  threads.lock.lock();
  if (Barrier* known = find_barrier(at)) known->come = (known->come + 1) % known->threads;
  threads.lock.unlock();
}

void note_barrier(const pthread_barrier_t* at, unsigned count) {
  threads.lock.lock();
  Barrier* place = find_barrier(at);
  if (!place && count > 0) place = find_barrier(nullptr);
  if (place) *place = count > 0 ? Barrier{at, count, 0} : Barrier{};
  threads.lock.unlock();
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes, unsigned count) noexcept {
  const int result = next(next_barrier_init, "pthread_barrier_init")(barrier, attributes, count);
  if (result == 0 && process.may_record()) note_barrier(barrier, count);
  return result;
}

HOLDFAST_REPLACES int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  if (process.may_record()) note_barrier(barrier, 0);
  return next(next_barrier_destroy, "pthread_barrier_destroy")(barrier);
}

HOLDFAST_REPLACES int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  auto* real = next(next_barrier_wait, "pthread_barrier_wait");
  if (!threads.orders(CALLER)) {
    if (threads.undecided() && process.may_record()) come_unordered(barrier);
    return real(barrier);
  }
  threads.await_turn("pthread_barrier_wait");
  Outcome none = Outcome::done;
  threads.lock.lock();
  threads.take_locked(Operation::barrier, none);
  Barrier* known = find_barrier(barrier);
  const bool last = known && ++known->come == known->threads;
  if (last) known->come = 0;
  threads.lock.unlock();
  const int result = real(barrier);
  if (!known || (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD)) return result;
  // The order was given up, and not all of its threads were counted: then the system has chosen.
  if (!threads.ordered() && __atomic_load_n(&known->come, __ATOMIC_ACQUIRE) != 0) return result;
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
