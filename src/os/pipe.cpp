#include "os/pipe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "os/error_text.hpp"

namespace hf::os {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", error_text(errno)));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace hf::os
