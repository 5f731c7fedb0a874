// Timers of POSIX that send their signal to a thread of the program, which knows it by its number.
#include <signal.h>
#include <time.h>

#include "recorder/ids.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

int (*next_timer_create)(clockid_t, sigevent*, timer_t*);

// Timers of another kind had these names before.
template <class Function>
Function* next_timer(Function*& cached, const char* name) {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.3.3"}) {
    if (!cached) cached = reinterpret_cast<Function*>(::dlvsym(RTLD_NEXT, name, version));
  }
  return next(cached, name);
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  auto* real = next_timer(next_timer_create, "timer_create");
  if (!event || event->sigev_notify != SIGEV_THREAD_ID) return real(clock, event, timer);
  sigevent meaning = *event;
  meaning._sigev_un._tid = meant(event->_sigev_un._tid);
  return real(clock, &meaning, timer);
}
