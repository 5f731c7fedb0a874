// Runs that are timed: what a protocol costs must come out of what its parts cost.
#include <gtest/gtest.h>

#include "sim/job/kernels.hpp"

namespace hf::sim::job {
namespace {

enum class Protocol { none, pessimist, optimist };

JobOutcome timed(Kernel kernel, int ranks, Protocol protocol, int event_loggers = 0, const Costs& costs = {}) {
  JobOptions options;
  options.ranks = ranks;
  options.nodes = ranks / 2;
  options.spares = 0;
  options.steps = 1;
  options.event_copies = 1;
  options.optimist = protocol == Protocol::optimist;
  options.level = protocol == Protocol::none ? Level::process : Level::node;
  options.event_loggers = protocol == Protocol::none ? 0 : event_loggers;
  options.timing.emplace();
  options.timing->kernel = kernel;
  options.timing->costs = costs;
  options.timing->logs = protocol != Protocol::none;
  JobOutcome out = run_job(options, {});
  EXPECT_EQ(out.violations, std::vector<std::string>());
  EXPECT_GT(out.finished_ns, 0);
  return out;
}

// The paper, V.B: among the six kernels only MG and LU have non-deterministic events.
TEST(Timing, WhichKernelsDetermine) {
  for (int k = 0; k < kernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    const JobOutcome out = timed(kernel, 16, Protocol::pessimist);
    EXPECT_EQ(out.determinants > 0, kernel == Kernel::lu || kernel == Kernel::mg) << name_of(kernel);
    EXPECT_GT(out.messages, 0u) << name_of(kernel);
  }
}

TEST(Timing, ResultsAreThoseOfAnyProtocol) {
  for (int k = 0; k < kernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    const auto results = timed(kernel, 16, Protocol::none).results;
    EXPECT_EQ(timed(kernel, 16, Protocol::pessimist).results, results) << name_of(kernel);
    EXPECT_EQ(timed(kernel, 16, Protocol::optimist).results, results) << name_of(kernel);
  }
}

TEST(Timing, NothingIsDrawn) {
  EXPECT_EQ(timed(Kernel::mg, 16, Protocol::optimist).finished_ns, timed(Kernel::mg, 16, Protocol::optimist).finished_ns);
}

// What costs nothing is not seen: without determinants both protocols take what none takes.
TEST(Timing, WithoutDeterminantsTheSenderLogIsAll) {
  Costs costs;
  costs.log_ns_a_byte = 0;
  const std::int64_t none = timed(Kernel::cg, 16, Protocol::none, 0, costs).finished_ns;
  EXPECT_EQ(timed(Kernel::cg, 16, Protocol::pessimist, 0, costs).finished_ns, none);
  EXPECT_GT(timed(Kernel::cg, 16, Protocol::pessimist).finished_ns, none);
}

TEST(Timing, PessimistWaitsForTheLogger) {
  const JobOutcome none = timed(Kernel::lu, 16, Protocol::none), optimist = timed(Kernel::lu, 16, Protocol::optimist, 1);
  const JobOutcome pessimist = timed(Kernel::lu, 16, Protocol::pessimist, 1);
  EXPECT_GT(optimist.finished_ns, none.finished_ns);
  EXPECT_GT(pessimist.finished_ns, optimist.finished_ns);
  EXPECT_GT(optimist.dependency_bytes, 0u);
  EXPECT_EQ(pessimist.dependency_bytes, 0u);
  Costs slow;
  slow.append_ns = 500'000;  // sixteen ranks, one logger
  EXPECT_GT(timed(Kernel::lu, 16, Protocol::pessimist, 1, slow).finished_ns - pessimist.finished_ns, 16 * slow.append_ns / 2);
  EXPECT_LT(timed(Kernel::lu, 16, Protocol::pessimist, 4, slow).finished_ns, timed(Kernel::lu, 16, Protocol::pessimist, 1, slow).finished_ns);
}

}  // namespace
}  // namespace hf::sim::job
