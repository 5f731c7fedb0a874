// The process that stands behind the head of a job without a terminal: it holds what outlives a head (head_seat.hpp), starts the head, and
// another one when it was killed.
#pragma once
#include <functional>

#include "daemon/head_seat.hpp"

namespace hf::daemon {

// Returns in each head, which is a child of this process, with what `run_head` gives; and here when the job has ended, with its exit code.
int keep_heads(HeadSeat seat, const std::function<int(HeadSeat)>& run_head);

}  // namespace hf::daemon
