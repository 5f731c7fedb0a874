// What a Fortran binding on top of the library has said of its compiler (MPI 5.0, 20.4): the library itself is of C and
// knows nothing of it. Each can be said once.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hf::mpi {

struct FortranAbi {
  static constexpr std::size_t logical_bytes_max = 16;

  bool info_set = false;
  std::vector<std::pair<std::string, std::string>> info;  // the predefined keys that were given

  std::size_t logical_bytes = 0;  // of the literals below; 0: not set
  std::array<std::byte, logical_bytes_max> logical_true{}, logical_false{};
};

}  // namespace hf::mpi
