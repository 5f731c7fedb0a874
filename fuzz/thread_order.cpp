// The order of a rank's threads, as it stands among the events of its predecessors: followed as far as it goes, or called damaged.
#include "recorder/thread_order.hpp"

#include <cstring>
#include <stdexcept>

#include "fuzz.hpp"

namespace hf::fuzz {

namespace {

using namespace recorder;

Octets written;

ThreadOrder order_of(Bytes past, std::uint64_t word) {
  ThreadOrder order({[](const void* event, std::size_t bytes) {
                       const auto* from = static_cast<const std::byte*>(event);
                       written.insert(written.end(), from, from + bytes);
                     },
                     [](const char* what) { throw std::runtime_error(what); }});
  order.load(past.data(), past.size(), word);
  order.begin(1);
  return order;
}

}  // namespace

Octets sample(Random& random) {
  written.clear();
  ThreadOrder order = order_of({}, 0);
  for (std::uint64_t n = random() % 60; n > 0; --n) {
    const auto thread = static_cast<ThreadNumber>(1 + random() % 3);
    order.take(thread, random() % 2 == 0 ? Operation::mpi : Operation::lock, random() % 8 == 0 ? Outcome::busy : Outcome::done, n);
    if (random() % 10 == 0) order.flush(n);
  }
  return written;
}

void take(Bytes input) {
  std::uint64_t word = 0;
  if (input.size() >= sizeof word) std::memcpy(&word, input.data() + input.size() - sizeof word, sizeof word);
  written.clear();
  try {
    ThreadOrder order = order_of(input, input.size() % 3 == 0 ? word : 0);
    for (int i = 0; i < 200 && order.replaying(); ++i) {
      order.take(order.thread(), Operation::lock, Outcome::done, 2);
      if (i % 50 == 49) order.flush(2);
    }
    order.take(1, Operation::mpi, Outcome::done, 3);
    order.give_up();
  } catch (const std::runtime_error&) {
  }
}

}  // namespace hf::fuzz
