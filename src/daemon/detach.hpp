// `holdfast run --detach`: a head of its own session, without a terminal.
#pragma once
#include "daemon/options.hpp"

namespace hf::daemon {

// Returns in both processes, with an exit code: in the one that was called once all ranks have started, or with the job's end when they
// cannot; in the head at the end of the job.
int run_in_background(RunOptions options);

}  // namespace hf::daemon
