// The commands that work on jobs that run already: arguments without the command's name, an exit code (2: wrong use, 1: other errors).
#pragma once
#include <string>
#include <vector>

namespace hf::daemon {

int ps_main(const std::vector<std::string>& arguments);
int kill_main(const std::vector<std::string>& arguments);
int attach_main(const std::vector<std::string>& arguments);  // the job's exit code, when it ends meanwhile
int logs_main(const std::vector<std::string>& arguments);

}  // namespace hf::daemon
