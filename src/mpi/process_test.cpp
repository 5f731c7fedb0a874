#include "mpi/process.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "mpi/api.hpp"
#include "mpi/completion.hpp"
#include "mpi/request.hpp"

namespace hf::mpi {
namespace {

struct Counting final : Request {
  static inline std::size_t looks = 0, alive = 0;
  bool complete = false;
  Counting() { ++alive; }
  ~Counting() override { --alive; }
  bool done() const override { return ++looks, complete; }
  int finish(Process&, Status&) override { return success; }
};

TEST(Process, FreeingActiveRequestsCostsTheSameForEach) {
  constexpr std::size_t n = 20'000;
  Process p;
  std::vector<Counting*> freed;
  Counting::looks = 0;
  for (std::size_t i = 0; i < n; ++i) {
    freed.push_back(new Counting);
    Request* request = freed.back();
    ASSERT_EQ(request_free(p, request), success);
    EXPECT_EQ(request, nullptr);
  }
  EXPECT_EQ(Counting::alive, n);
  EXPECT_LT(Counting::looks, 4 * n);
  for (Counting* one : freed) one->complete = true;
  p.sweep_buried();
  EXPECT_EQ(Counting::alive, 0u);
}

TEST(Process, FreedRequestsThatAreDoneDoNotPileUp) {
  Process p;
  for (int i = 0; i < 10'000; ++i) {
    auto* made = new Counting;
    Request* request = made;
    ASSERT_EQ(request_free(p, request), success);
    made->complete = true;
    EXPECT_LE(Counting::alive, 64u);
  }
  p.sweep_buried();
  EXPECT_EQ(Counting::alive, 0u);
}

}  // namespace
}  // namespace hf::mpi
