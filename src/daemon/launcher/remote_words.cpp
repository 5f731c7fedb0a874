#include "daemon/launcher/remote_words.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "os/process.hpp"

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;

constexpr int ssh_failed = 255;  // its own failures, by its manual

// In quotes that every login shell takes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

bool says(const Words& words, std::initializer_list<const char*> texts) {
  return std::ranges::any_of(words, [&](const std::string& line) {
    return std::ranges::any_of(texts, [&](const char* text) { return line.find(text) != std::string::npos; });
  });
}

std::string last(const Words& words) {
  return words.empty() ? "it said nothing" : words.back();
}

std::string how(int status) {
  return WIFSIGNALED(status) ? fmt::format("killed by {}", os::signal_name(WTERMSIG(status)))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string not_found(const std::string& host, const std::string& path) {
  return fmt::format("host {}: {} cannot be run there: install holdfast at the same place, or say where it is with --remote-path", host,
                     path);
}

std::string ended(const std::string& host, int status) {
  return fmt::format("host {}: the agent ended before it had joined ({})", host, how(status));
}

}  // namespace

Words ssh_arguments(const std::string& host, const std::string& path) {
  return {"-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "--", host, "exec " + quoted(path) + " agent"};
}

// --mem=0 and no number of cores: the agent's ranks have all that the job has of the node.
Words srun_arguments(const std::string& host, const std::string& path) {
  return {"--overlap", "--no-kill", "--nodes=1", "--ntasks=1",   "--nodelist=" + host,  "--mpi=none",   "--mem=0",
          "--quiet",   "--input=0", "--export=ALL", "--kill-on-bad-exit=0", "--unbuffered", path, "agent", "--under-slurm"};
}

std::string why_local_agent_ended(const std::string& host, int status) {
  return ended(host, status);
}

std::string why_ssh_ended(const std::string& host, int status, const Words& words, const std::string& path) {
  if (!WIFEXITED(status)) return ended(host, status);
  const int code = WEXITSTATUS(status);
  if (code == 126 || code == 127) return not_found(host, path);
  if (code != ssh_failed) return ended(host, status);
  if (says(words, {"Host key verification failed", "HOST IDENTIFICATION HAS CHANGED", "host key is known for"})) {
    return fmt::format("host {}: ssh does not accept its host key: log in once by hand, ssh {}, and check the key", host, host);
  }
  if (says(words, {"Permission denied", "Too many authentication failures"})) {
    return fmt::format("host {}: ssh asks for a password: give this account a key there (ssh -o BatchMode=yes {} true must succeed)", host,
                       host);
  }
  return fmt::format("host {} cannot be reached: {}", host, last(words));
}

std::string why_srun_ended(const std::string& host, int status, const Words& words, const std::string& path) {
  if (!WIFEXITED(status)) return ended(host, status);
  if (says(words, {"execve", "command not found"}) || WEXITSTATUS(status) == 127) return not_found(host, path);
  if (says(words, {"srun: error"})) return fmt::format("host {}: srun could not start an agent there: {}", host, last(words));
  return ended(host, status);
}

}  // namespace hf::daemon
