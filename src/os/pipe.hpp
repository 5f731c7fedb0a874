// A pipe, both ends closed on exec.
#pragma once
#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

struct Pipe {
  UniqueFd read, write;
};
Result<Pipe> make_pipe();

}  // namespace hf::os
