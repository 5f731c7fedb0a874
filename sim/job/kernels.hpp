// The communication of six NAS parallel benchmarks, class C, with the time their arithmetic takes: programs of a run that is timed.
// Ranks share a problem of one size. Their messages carry a hash, so that results can be compared, and the size that they would have.
//
// BT and SP take a square number of ranks, the others a power of two; FT sends to everybody.
#pragma once
#include "sim/job/options.hpp"
#include "sim/job/program.hpp"

namespace hf::sim::job {

class Process;

bool takes(Kernel kernel, int ranks);
Program run_kernel(const JobOptions& options, Process& mpi);

}  // namespace hf::sim::job
