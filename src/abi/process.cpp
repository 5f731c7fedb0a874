#include "abi/process.hpp"

#include "abi/own_stack.hpp"

namespace hf::abi {

mpi::Process& process() {
  static mpi::Process& the_process = *[] {
    auto* made = new mpi::Process;
    made->in_callback = in_callback;
    return made;
  }();
  return the_process;
}

}  // namespace hf::abi
