// Runs a fuzz target: random bytes, proper inputs, and proper inputs cut, flipped and spliced.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

volatile std::uint64_t current_seed = 0;

void on_crash(int signal) {
  char line[80];
  int n = snprintf(line, sizeof(line), "\ncrashed by the input of HOLDFAST_SEED=%llu\n",
                   static_cast<unsigned long long>(current_seed));
  if (write(2, line, static_cast<std::size_t>(n)) < 0) _exit(2);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Octets input_of(std::uint64_t seed) {
  Random random(seed);
  if (random() % 8 == 0) {
    Octets bytes(random() % 2000);
    for (auto& b : bytes) b = static_cast<std::byte>(random());
    return bytes;
  }
  Octets bytes = sample(random);
  if (random() % 8 == 0 || bytes.empty()) return bytes;
  for (std::uint64_t flips = random() % 20; flips > 0; --flips)
    bytes[random() % bytes.size()] = random() % 2 ? static_cast<std::byte>(random()) : static_cast<std::byte>(0xff);
  if (random() % 4 == 0) {  // a stretch copied elsewhere
    std::size_t from = random() % bytes.size(), to = random() % bytes.size();
    std::size_t n = std::min({random() % 500, bytes.size() - from, bytes.size() - to});
    Octets stretch(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(from + n));
    std::copy(stretch.begin(), stretch.end(), bytes.begin() + static_cast<std::ptrdiff_t>(to));
  }
  if (random() % 4 == 0) bytes.resize(random() % bytes.size());
  return bytes;
}

TEST(Fuzz, TakesAnyInput) {
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(signal, on_crash);
  std::uint64_t first = from_environment("HOLDFAST_SEED", std::random_device()());
  auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(from_environment("HOLDFAST_FUZZ_SECONDS", 1));
  std::uint64_t count = 0;
  for (; std::chrono::steady_clock::now() < stop; ++count) {
    current_seed = first + count;
    Octets bytes = input_of(first + count);
    // Exactly as large as the input, so that a sanitizer sees a read beyond its end.
    std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    take({exact.get(), bytes.size()});
  }
  printf("HOLDFAST_SEED=%llu: %llu inputs\n", static_cast<unsigned long long>(first), static_cast<unsigned long long>(count));
}

}  // namespace
}  // namespace hf::fuzz
