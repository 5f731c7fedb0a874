#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace hf {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "holdfast: internal error: %s does not hold (%s:%d); please report this\n", expression, file, line);
  std::abort();
}

}  // namespace hf
