// What dlsym leaves on the stack differs from run to run: the C library's pointers are mangled by a random number there.
#include <dlfcn.h>

#include "recorder/aside.hpp"

namespace hf::recorder {

void* find_next(const char* name, const char* version) {
  return aside([=] { return version ? ::dlvsym(RTLD_NEXT, name, version) : ::dlsym(RTLD_NEXT, name); });
}

}  // namespace hf::recorder
