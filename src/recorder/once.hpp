// What is done by the first thread that comes. Counted by who does it when it begins, by others when it is done.
#pragma once
#include "recorder/threads.hpp"

namespace hf::recorder {

// What this thread is to do once.
struct DoneOnce {
  void (*what)() = nullptr;
  bool counted = false;
};
inline thread_local constinit DoneOnce done_once [[gnu::tls_model("initial-exec")]];

inline void count_and_do() {
  threads.take(Operation::once);
  done_once.counted = true;
  const DoneOnce own = done_once;
  own.what();
  done_once = own;
}

// `once` calls the C library's function with the given one instead of the program's.
template <class Once>
auto do_once(const char* function, void (*what)(), Once once) {
  threads.await_turn(function);
  const DoneOnce outer = done_once;
  done_once = {what, false};
  const auto result = once(count_and_do);
  if (!done_once.counted) threads.take(Operation::once);
  done_once = outer;
  return result;
}

}  // namespace hf::recorder
