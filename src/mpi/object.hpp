// What all MPI objects share: a count of references (handles and internal uses) and the handle word of the process's
// front end. mpi/ never looks into the word (design section 11).
#pragma once
#include <cstdint>

namespace hf::mpi {

struct Object {
  std::uintptr_t handle = 0;  // the front end's; set when the object first crosses abi/
  std::int32_t references = 1;
  bool predefined = false;    // never freed
};

// Adds a reference and returns the object.
template <class T>
T* retain(T* object) {
  if (object) ++object->references;
  return object;
}
// Drops one reference; the last one deletes (predefined objects stay).
template <class T>
void release(T* object) {
  if (object && --object->references == 0 && !object->predefined) delete object;
}

}  // namespace hf::mpi
