// The programs that simulated ranks run.
#pragma once
#include "sim/job/options.hpp"
#include "sim/job/program.hpp"

namespace hf::sim::job {

class Process;

Program run_workload(const JobOptions& options, Process& mpi);

}  // namespace hf::sim::job
