// What the parts of the recorder that stand before libgomp share.
#pragma once
#include <link.h>

#include "recorder/process.hpp"
#include "recorder/threads.hpp"

namespace hf::recorder {

// As next(); the library may be one that is seen only by the object that calls, as one that Python has loaded.
template <class Function>
Function* next_for(const void* caller, Function*& cached, const char* name) {
  if (Function* found = next(cached, name)) return found;
  Dl_info info;
  link_map* map = nullptr;
  if (::dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || !map) return nullptr;
  void* object = ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  auto* found = object ? reinterpret_cast<Function*>(::dlsym(object, name)) : nullptr;
  if (object) ::dlclose(object);
  return found;
}

// What falls to the thread that asks depends on how many have asked before: they ask in the order in which they are counted.
template <class Ask>
auto in_turn(const char* function, Ask ask) {
  threads.await_turn(function);
  Outcome none = Outcome::done;
  threads.lock.lock();
  threads.take_locked(Operation::single, none);
  const auto own = ask();
  threads.lock.unlock();
  return own;
}

}  // namespace hf::recorder
