// What is said to ssh and srun, and what their exit codes and words mean. Pure.
#pragma once
#include <string>
#include <vector>

namespace hf::daemon {

// What follows `ssh`; `path`: of holdfast over there.
std::vector<std::string> ssh_arguments(const std::string& host, const std::string& path);
// What follows `srun`.
std::vector<std::string> srun_arguments(const std::string& host, const std::string& path);

// Why the process that stood for an agent ended, with this wait status and these last lines on stderr, before the agent had
// joined: one line that says what to do.
std::string why_local_agent_ended(const std::string& host, int status);
std::string why_ssh_ended(const std::string& host, int status, const std::vector<std::string>& words, const std::string& path);
std::string why_srun_ended(const std::string& host, int status, const std::vector<std::string>& words, const std::string& path);

}  // namespace hf::daemon
