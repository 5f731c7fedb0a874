#include "engine/job_clock.hpp"

#include <atomic>
#include <cstdlib>

#include "wire/bootstrap.hpp"

namespace hf::engine {
namespace {

double job_began() {
  const char* agent = std::getenv(wire::env_agent);
  const char* began_ns = std::getenv(wire::env_job_started);
  if (!agent || !*agent || !began_ns) return first_asked();
  return 1e-9 * static_cast<double>(std::strtoll(began_ns, nullptr, 10));
}

}  // namespace

double first_asked() {
  static const double asked = seconds_of(CLOCK_REALTIME);
  return asked;
}

// As the engine's, which does not take the offset from here: in a replay on another node it would be that of this node's clock.
double time_before_join() {
  static const double offset = [] {
    const double began = job_began();
    return seconds_of(CLOCK_REALTIME) - began - seconds_of(CLOCK_MONOTONIC);
  }();
  return offset + seconds_of(CLOCK_MONOTONIC);
}

}  // namespace hf::engine
