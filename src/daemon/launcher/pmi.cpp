#include "daemon/launcher/pmi.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace hf::daemon {
namespace {

constexpr std::size_t length_chars = 6, answer_bytes_max = 64 * 1024, line_bytes_max = 256;
constexpr std::size_t value_bytes_max = 1024;

std::optional<int> variable(const char* name) {
  const char* text = std::getenv(name);
  int value = 0;
  if (!text) return std::nullopt;
  auto [end, code] = std::from_chars(text, text + std::strlen(text), value);
  return code == std::errc() && *end == '\0' ? std::optional(value) : std::nullopt;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool receive_exactly(int fd, char* to, std::size_t size) {
  while (size > 0) {
    ssize_t n = ::read(fd, to, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

std::unexpected<Error> lost() {
  return fail("the connection to Slurm's PMI is lost");
}

}  // namespace

std::string pmi_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) return std::string(pair.substr(equals + 1));
  }
  return {};
}

Result<Pmi> Pmi::join() {
  auto fd = variable("PMI_FD"), rank = variable("PMI_RANK"), size = variable("PMI_SIZE");
  const char* job = std::getenv("PMI_JOBID");
  if (!fd || !rank || !size || !job) {
    return fail(std::getenv("SLURM_STEP_ID") ? "srun gives its tasks no PMI: say srun --mpi=pmi2 ... holdfast exec ./program"
                                             : "this is for srun (srun --mpi=pmi2 -n 4 holdfast exec ./program); without Slurm: "
                                               "holdfast run -n 4 ./program");
  }
  Pmi out;
  out.fd_.reset(*fd);
  out.rank_ = *rank;
  out.size_ = *size;
  if (Result<> done = out.init(job); !done) return std::unexpected(done.error());
  return out;
}

// The first exchange is a line, for the sake of version 1 of the protocol.
Result<> Pmi::init(std::string_view job) {
  if (!send_all(fd_.get(), "cmd=init pmi_version=2 pmi_subversion=0\n")) return lost();
  std::string line;
  for (char c = 0; line.size() < line_bytes_max && receive_exactly(fd_.get(), &c, 1) && c != '\n';) line += c;
  if (line.find("rc=0") == std::string::npos || line.find("pmi_version=2") == std::string::npos) {
    return fail(fmt::format("PMI-2 is not spoken here (srun --mpi=pmi2): {}", line.empty() ? "no answer" : line));
  }
  auto joined = ask("fullinit", fmt::format("pmijobid={};pmirank={};threaded=FALSE;", job, rank_));
  return joined ? Result<>() : std::unexpected(joined.error());
}

Result<std::string> Pmi::ask(std::string_view command, std::string_view arguments) {
  const std::string text = fmt::format("cmd={};{}", command, arguments);
  if (!send_all(fd_.get(), fmt::format("{:>6}{}", text.size(), text))) return lost();
  char length[length_chars + 1] = {};
  if (!receive_exactly(fd_.get(), length, length_chars)) return lost();
  const unsigned long size = std::strtoul(length, nullptr, 10);
  if (size == 0 || size > answer_bytes_max) return fail("Slurm's PMI gave an answer without a length");
  std::string answer(size, '\0');
  if (!receive_exactly(fd_.get(), answer.data(), size)) return lost();
  if (pmi_value(answer, "cmd") != fmt::format("{}-response", command) || pmi_value(answer, "rc") != "0") {
    return fail(fmt::format("Slurm's PMI refuses {}: {}", command, pmi_value(answer, "errmsg")));
  }
  return answer;
}

Result<> Pmi::put(std::string_view key, std::string_view value) {
  if (value.size() > value_bytes_max) return fail(fmt::format("{} is too long for Slurm's PMI", key));
  auto done = ask("kvs-put", fmt::format("key={};value={};", key, value));
  return done ? Result<>() : std::unexpected(done.error());
}

Result<> Pmi::fence() {
  auto done = ask("kvs-fence");
  return done ? Result<>() : std::unexpected(done.error());
}

Result<std::string> Pmi::get(std::string_view key) {
  auto answer = ask("kvs-get", fmt::format("key={};", key));
  if (!answer) return answer;
  return pmi_value(*answer, "found") == "TRUE" ? pmi_value(*answer, "value") : std::string();
}

Result<> Pmi::finalize() {
  auto done = ask("finalize");
  return done ? Result<>() : std::unexpected(done.error());
}

}  // namespace hf::daemon
