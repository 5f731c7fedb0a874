// Info objects (MPI 5.0, chapter 10): ordered keys and values.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/object.hpp"

namespace hf::mpi {

class Process;

struct Info : Object {
  std::vector<std::pair<std::string, std::string>> entries;  // in order of first insertion
  const std::string* find(std::string_view key) const;       // null: no such key
  void set(std::string_view key, std::string_view value);
};

// Adds to MPI_INFO_ENV what is known only when the process has joined its job. Called once by MPI_Init.
void complete_info_env(Process& p);

}  // namespace hf::mpi
