// HF_CHECK: our own bugs end the process with a line that names them, in release builds too.
// Never use it on bytes that came from a peer, a file or a user.
#pragma once

namespace hf {
[[noreturn, gnu::cold]] void check_failed(const char* expression, const char* file, int line);
}

#define HF_CHECK(expression) \
  (__builtin_expect(!!(expression), 1) ? (void)0 : ::hf::check_failed(#expression, __FILE__, __LINE__))
