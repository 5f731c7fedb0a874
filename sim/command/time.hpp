#pragma once

namespace hf::sim::job {

// `holdfast-sim time`, from that word on: the exit code.
int time_command(int count, char** values);

}  // namespace hf::sim::job
