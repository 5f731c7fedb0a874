#include "abi/process.hpp"

namespace hf::abi {

mpi::Process& process() {
  static mpi::Process& the_process = *new mpi::Process;
  return the_process;
}

}  // namespace hf::abi
