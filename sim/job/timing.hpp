// What is to be timed, and what things cost then: `holdfast-sim time`. Without it how long things take is drawn (Pace).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace hf::sim::job {

// Nanoseconds of the simulated clock. The defaults are those of paper 000: Gigabit Ethernet, an event as in table I.
struct Costs {
  std::int64_t latency_ns = 45'000, latency_local_ns = 1'000;  // of a frame without payload, between nodes and inside one
  double network_ns_a_byte = 9, local_ns_a_byte = 0.5;         // what leaves a node queues for its link
  std::int64_t call_ns = 2'000;                                // a message sent or received
  std::int64_t event_ns = 6'300;                               // a determinant made and handed over
  std::int64_t acknowledged_ns = 1'100;                        // optimist: news of what is stable, taken
  std::int64_t look_ns = 1'000;                                // an agent sees what a rank wrote, or the other way
  std::int64_t append_ns = 5'000;                              // whoever holds determinants takes a frame of them and answers
  std::int64_t exchange_ns = 1'000'000;                        // optimist: agents tell what is stable at most so often
  double log_ns_a_byte = 0.3;                                  // the sender log
};

enum class Kernel : std::uint8_t { bt, cg, ft, lu, mg, sp };
constexpr int kernels = 6;
const char* name_of(Kernel kernel);
std::optional<Kernel> kernel_named(std::string_view name);

struct Timing {
  Costs costs;
  Kernel kernel = Kernel::lu;
  double gflops = 1;         // of a rank
  bool any_planes = false;   // LU: the lines of every plane come from any source, not the halos alone
  bool logs = true;          // else nothing is logged, and no determinant made
};

}  // namespace hf::sim::job
