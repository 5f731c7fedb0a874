// From when MPI_Wtime counts: from about the beginning of the job, before MPI_Init as afterwards.
#pragma once
#include <time.h>

namespace hf::engine {

inline double seconds_of(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The real-time clock when MPI_Wtime or MPI_Init first asked, which stands for the beginning where there is no agent.
double first_asked();

// What MPI_Wtime gives before MPI_Init, in any thread. The recorder records the clocks that are read here as it does the program's.
double time_before_join();

}  // namespace hf::engine
