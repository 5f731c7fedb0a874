#include "mpi/pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace hf::mpi {
namespace {

struct Base {
  virtual ~Base() = default;
};
struct Thing final : Base, Pooled<Thing> {
  char body[100];
};

TEST(Pool, GivesBackWhatWasFreedLast) {
  Thing* first = new Thing;
  void* address = first;
  Base* as_base = first;
  delete as_base;  // through the virtual destructor: the class's own operator delete
  Thing* second = new Thing;
  EXPECT_EQ(second, address);
  delete second;
}

TEST(Pool, ObjectsAreApartAndAligned) {
  std::set<std::uintptr_t> seen;
  for (int i = 0; i < 2000; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(new Thing);
    EXPECT_EQ(at % 64, 0u);
    for (std::uintptr_t near = at - 64; near <= at + 64; near += 64) EXPECT_FALSE(seen.contains(near));
    seen.insert(at);
  }
  for (std::uintptr_t at : seen) delete reinterpret_cast<Thing*>(at);
}

}  // namespace
}  // namespace hf::mpi
