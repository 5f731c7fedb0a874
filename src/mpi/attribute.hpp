// Attribute caching (MPI 5.0, 7.7): keyvals, and the attributes of one object, deleted in reverse order of setting.
#pragma once
#include <vector>

#include "mpi/frontend.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

struct Keyval : Object {
  enum class Kind { comm, type, win } kind = Kind::comm;
  int number = 0;         // what the program knows it by
  Callback copy, remove;  // without function: nothing is copied (unless copy.duplicates), nothing is called
  void* extra = nullptr;
  bool freed = false;  // by the program; attributes that have it stay, and can be read and deleted by the number (7.7.2)
};

struct Attribute {
  Keyval* keyval = nullptr;  // one reference
  void* value = nullptr;
};

// Holds references: emptied by delete_attributes before its object goes.
struct AttributeMap {
  std::vector<Attribute> entries;  // in order of setting
};

// The keyvals of the process, by number. Numbers are given in order and not again. A freed one goes with its last attribute.
class KeyvalTable {
 public:
  KeyvalTable() = default;
  ~KeyvalTable();
  KeyvalTable(const KeyvalTable&) = delete;
  KeyvalTable& operator=(const KeyvalTable&) = delete;
  int add(Keyval::Kind kind, const Callback& copy, const Callback& remove, void* extra);
  Keyval* find(Keyval::Kind kind, int number) const;  // null: no such keyval, or gone
  void free(Keyval& keyval);
  void drop(Keyval& keyval);  // one reference

 private:
  void forget_unused(Keyval& keyval);

  std::vector<Keyval*> keyvals_;  // one reference each; null: gone
};

// Values of the predefined attributes of communicators (11.2.1); the program gets their addresses.
struct PredefinedAttributes {
  int tag_ub, io, host, wtime_is_global, appnum, last_used_code, universe_size;
};

struct Comm;
struct Datatype;
class Process;

// Deletes all attributes of the object, last set first; stops at the first delete callback that fails, with its code.
// MPI_Comm_free, MPI_Type_free, and MPI_Finalize for MPI_COMM_SELF.
int delete_attributes(Process& p, Comm& comm);
int delete_attributes(Process& p, Datatype& type);

// Copies the attributes of one object to a new duplicate of it, as their copy callbacks say. When one fails the new
// object's attributes are deleted again and its code is returned.
int copy_attributes(Process& p, Comm& from, Comm& to);
int copy_attributes(Process& p, Datatype& from, Datatype& to);

}  // namespace hf::mpi
