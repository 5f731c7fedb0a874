#include "mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "mpi/request.hpp"

namespace hf::mpi {

Process::Process() {
  errors_are_fatal.kind = Errhandler::Kind::errors_are_fatal;
  errors_abort.kind = Errhandler::Kind::errors_abort;
  errors_return.kind = Errhandler::Kind::errors_return;
  for (Errhandler* handler : {&errors_are_fatal, &errors_abort, &errors_return}) handler->predefined = true;
  message_no_proc.predefined = true;
  file_errhandler = retain(&errors_return);
}

Process::~Process() = default;

// One thread may be inside at a time. That of the first is not marked before the second has called: it is seen by its waiting.
Process::Marked Process::enter_among_several(const char* function) {
  if (order_is_due_ && !in_callback()) {
    order_is_due_ = false;
    engine->order_threads_now();
  }
  if (in_order_) return enter_in_turn(function);
  if (std::exchange(only_thread, nullptr)) {
    if (engine->waits()) end_for_two_at_once(function, "another MPI function");
    engine->declare_unprotected(function);
  }
  const void* inside = nullptr;
  if (!inside_.compare_exchange_strong(inside, this_thread())) {
    if (inside == this_thread()) return Marked::no;  // in a callback
    end_for_two_at_once(function, inside_function_);
  }
  inside_function_ = function;
  return Marked::yes;
}

void Process::order_threads(bool may_give_up) {
  engine->order_threads(
      may_give_up,
      // A thread that is made inside an MPI call, by a function of the program, may not have the engine to itself before this one is over.
      [](void* self) {
        auto& p = *static_cast<Process*>(self);
        p.order_is_due_ = p.phase == Phase::joined && p.in_callback();
        p.in_order_ = !p.order_is_due_;
        p.only_thread = nullptr;
        return p.in_order_;
      },
      this);
}

// In the replay a thread may come before the one has left that was before it in the first run.
Process::Marked Process::enter_in_turn(const char* function) {
  if (inside_.load(std::memory_order_relaxed) == this_thread()) {
    if (in_callback()) {
      engine->enter_nested();
      return Marked::nested;
    }
    inside_.store(nullptr, std::memory_order_relaxed);  // one was left by longjmp, and with it the call
  }
  const bool replayed = engine->await_turn(function);
  for (const void* inside = nullptr; !inside_.compare_exchange_weak(inside, this_thread()); inside = nullptr) {
    if (inside && !replayed) end_for_two_at_once(function, inside_function_);
    std::this_thread::yield();
  }
  inside_function_ = function;
  if (!engine->enter_in_turn() && !on_main_thread() && !std::exchange(unprotected_, true)) engine->declare_unprotected(function);
  return Marked::yes;
}

void Process::end_for_two_at_once(const char* function, const char* other) {
  engine->abort(1, fmt::format("{} was called while another thread was inside {}; of the threads of a rank one at a time may call MPI "
                               "(MPI_THREAD_SERIALIZED)",
                               function, other));
}

int Process::explain(int code, std::string text) {
  explanation_ = std::move(text);
  return code;
}

std::string Process::take_explanation() { return std::exchange(explanation_, {}); }

void Process::blame(Comm* comm) {
  if (comm == blamed_) return;
  release(blamed_);
  blamed_ = retain(comm);
}

Comm* Process::take_blamed() { return std::exchange(blamed_, nullptr); }

void Process::bury(Request* request) {
  request->freed = true;
  buried_.push_back(request);
  if (buried_.size() >= sweep_at_) sweep_buried();
}

void Process::sweep_buried() {
  for (std::size_t i = 0; i < buried_.size();) {
    if (buried_[i]->done()) {
      drop_buried_at(i);
    } else {
      ++i;
    }
  }
  sweep_at_ = std::max(sweep_at_least, 2 * buried_.size());
}

bool Process::freed_sends_done() const {
  return std::ranges::all_of(buried_, [](const Request* request) { return request->kind != Request::Kind::send || request->done(); });
}

void Process::drop_buried(Request* request) {
  auto at = std::ranges::find(buried_, request);
  if (at != buried_.end()) drop_buried_at(static_cast<std::size_t>(at - buried_.begin()));
}

void Process::drop_buried_at(std::size_t index) {
  Request* request = buried_[index];
  buried_[index] = buried_.back();
  buried_.pop_back();
  request->retire(*this);
  release(request);
}

}  // namespace hf::mpi
