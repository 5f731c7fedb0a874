#include "os/standard_streams.hpp"

#include <stdio.h>
#include <sys/single_threaded.h>

namespace hf::os {

void flush_streams() {
  bool all = true;
  FILE* const streams[] = {stdin, stdout, stderr};
  bool held[] = {false, false, false};
  for (int i = 0; i < 3 && !__libc_single_threaded; ++i) {
    held[i] = ::ftrylockfile(streams[i]) == 0;
    all &= held[i];
  }
  if (all) {
    ::fflush(nullptr);
  } else {
    for (int i = 1; i < 3; ++i) {
      if (held[i]) ::fflush(streams[i]);
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (held[i]) ::funlockfile(streams[i]);
  }
}

}  // namespace hf::os
