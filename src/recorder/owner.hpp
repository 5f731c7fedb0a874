// Of a Recording or a ThreadOrder: who stores its events, and ends the process when a replay is another one.
#pragma once
#include <cstddef>

namespace hf::recorder {

struct Owner {
  void (*append)(const void* event, std::size_t bytes);  // it is stored when this returns
  void (*diverged)(const char* what);                    // the program does something else than in the run before; does not return
};

}  // namespace hf::recorder
