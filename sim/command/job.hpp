// holdfast-sim job: ranks with their protocols, over seeds.
#pragma once

namespace hf::sim::job {

int job_command(int count, char** values);

}  // namespace hf::sim::job
