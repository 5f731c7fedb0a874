// Views of the program's arrays of counts and displacements, whose elements are int or MPI_Count (the _c forms).
#pragma once
#include "mpi/constants.hpp"

namespace hf::mpi {

class CountArray {
 public:
  CountArray() = default;
  explicit CountArray(const int* narrow) : narrow_(narrow) {}
  explicit CountArray(const Count* wide) : wide_(wide) {}
  explicit operator bool() const { return narrow_ || wide_; }
  Count operator[](std::size_t i) const { return wide_ ? wide_[i] : static_cast<Count>(narrow_[i]); }

 private:
  const int* narrow_ = nullptr;
  const Count* wide_ = nullptr;
};

}  // namespace hf::mpi
