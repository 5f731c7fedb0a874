// Which MPI libraries a process has loaded, from the text of its /proc/PID/maps.
#pragma once
#include <string>
#include <string_view>

namespace hf::os {

struct LoadedMpi {
  bool own = false;
  std::string other;  // the path of the first that is not ours; empty: there is none
};

// `own`: the path of our libmpi_abi.so.1, links resolved. Pure.
LoadedMpi find_loaded_mpi(std::string_view maps, std::string_view own);

std::string read_maps(int process);  // empty: it cannot be read

}  // namespace hf::os
