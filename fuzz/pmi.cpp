// What answers at the other end of Slurm's PMI.
#include "daemon/launcher/pmi.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "base/check.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

std::string answer(std::string_view command, std::string_view more) {
  const std::string text = fmt::format("cmd={}-response;rc=0;{}", command, more);
  return fmt::format("{:>6}{}", text.size(), text);
}

}  // namespace

Octets sample(Random& random) {
  std::string text = "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n" + answer("fullinit", "rank=0;size=2;");
  if (random() % 2) text += answer("kvs-put", {});
  text += answer("kvs-fence", "errmsg=;;=;");
  text += answer("kvs-get", "found=TRUE;value=0 1 2 a b c;");
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void take(Bytes input) {
  int ends[2];
  HF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  HF_CHECK(::send(ends[1], input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()));
  ::shutdown(ends[1], SHUT_WR);
  ::setenv("PMI_FD", fmt::format("{}", ends[0]).c_str(), 1);
  for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_JOBID"}) ::setenv(name, "1", 1);
  if (auto pmi = daemon::Pmi::join()) {  // the descriptor is its own now, also when it fails
    static_cast<void>(pmi->put("key", "value"));
    static_cast<void>(pmi->fence());
    static_cast<void>(pmi->get("key"));
  }
  ::close(ends[1]);
}

}  // namespace hf::fuzz
