// `srun -n N holdfast exec ./program`: a job whose ranks Slurm has placed, without `holdfast run`. Task 0 becomes the head, the first
// task of each other node that node's agent; the others wait until it has ended. Head and agents find each other by the step's
// key-value space (launcher/pmi.hpp): each agent-to-be puts a public key there, and the head a ticket sealed with it, so that the job's
// key never stands there.
#pragma once
#include <string>
#include <vector>

namespace hf::daemon {

// `arguments` without the command's name; an exit code.
int exec_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
