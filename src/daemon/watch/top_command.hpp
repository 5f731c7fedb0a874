// `holdfast top [JOB]`: the ranks of a running job, live or once.
#pragma once
#include <string>
#include <vector>

namespace hf::daemon {

int top_main(const std::vector<std::string>& arguments);  // an exit code

}  // namespace hf::daemon
