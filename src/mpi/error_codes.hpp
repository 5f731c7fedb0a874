// Error classes and codes that the program adds (MPI 5.0, 9.5), and the texts of the predefined ones (9.4).
#pragma once
#include <string>
#include <vector>

#include "mpi/error.hpp"

namespace hf::mpi {

class ErrorCodes {
 public:
  struct Added {
    int error_class = 0;  // its own number: a class
    bool removed = false;
    std::string text;
  };
  int add_class();
  int add_code(int error_class);
  // Null for what was not added by the program, or was removed.
  Added* find(int code);
  // Codes of the class, itself not counted.
  int codes_of(int error_class) const;
  // MPI_LASTUSEDCODE: numbers are given in order and not again.
  int last_used() const { return err_lastcode + static_cast<int>(added_.size()); }

 private:
  std::vector<Added> added_;  // the first has the number err_lastcode + 1
};

// The exit code of a job that an error ends: of the error code, the low byte, which is all that a process can have; 1 where
// that is 0, which would say that all had ended well.
inline int exit_code(int error) { return error & 0xff ? error & 0xff : 1; }

// Null when it is no predefined error class.
const char* predefined_error_text(int code);

}  // namespace hf::mpi
