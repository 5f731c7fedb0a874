// Handles of a front end to objects and back. `Abi` is the front end's traits (standard/standard.hpp is the model):
//   handle types Comm, Group, Message, Info, Errhandler, Request, Datatype, Op, Win, File, Session; type Status
//   static HandleNumber number(Handle)            0 when the handle can be none
//   static Handle handle<Handle>(HandleNumber)
// An object keeps the number that its front end gave it in Object::handle; the table says whether it still holds.
#pragma once
#include <array>

#include "abi/handle_table.hpp"
#include "abi/process.hpp"
#include "mpi/datatype.hpp"
#include "mpi/op.hpp"
#include "mpi/predefined.hpp"
#include "mpi/request.hpp"

namespace hf::abi {

template <class Abi>
class Handles {
 public:
  static Handles& instance() {
    static Handles& the_handles = *new Handles;
    return the_handles;
  }

  // Null: a null handle, one of another kind, or none at all.
  template <class Object>
  Object* find(HandleNumber number) {
    constexpr KindFacts kind = facts<Object>;
    if (number >= dynamic_numbers) return static_cast<Object*>(table_.find(kind.kind, number));
    if (number <= kind.null || number > kind.last) return nullptr;
    if (!predefined_[number]) bind_communicators();
    return static_cast<Object*>(predefined_[number]);
  }

  // A handle for the program, which will give it back; the null handle for null.
  template <class Handle, class Object>
  Handle give(Object* object) {
    if (!object) return Abi::template handle<Handle>(facts<Object>.null);
    if (!holds(*object)) {
      object->handle = table_.add(facts<Object>.kind, object);
    } else if (object->handle >= dynamic_numbers) {
      table_.share(number_of(*object));
    }
    return Abi::template handle<Handle>(number_of(*object));
  }

  // The program's handle is gone; the object may be, too.
  void drop(HandleNumber number) {
    if (number >= dynamic_numbers) table_.drop(number);
  }

  // MPI_Finalize: MPI_COMM_WORLD and MPI_COMM_SELF are handles no more.
  void forget_communicators() { predefined_[0x101] = predefined_[0x102] = nullptr; }

  // A handle for the time of a callback.
  template <class Handle, class Object>
  class Lent {
   public:
    Lent(Handles& handles, Object& object) : handles_(handles), temporary_(!handles.holds(object)) {
      if (temporary_) {
        handle = handles.give<Handle>(&object);
      } else {
        handle = Abi::template handle<Handle>(number_of(object));
      }
      number_ = number_of(object);
    }
    ~Lent() {
      if (temporary_) handles_.drop(number_);
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    Handle handle;

   private:
    Handles& handles_;
    bool temporary_;
    HandleNumber number_;
  };
  template <class Handle, class Object>
  Lent<Handle, Object> lend(Object& object) {
    return Lent<Handle, Object>(*this, object);
  }

 private:
  Handles() {
    mpi::Process& p = process();
    for (HandleNumber n = facts<mpi::Datatype>.null + 1; n <= facts<mpi::Datatype>.last; ++n) {
      bind(n, mpi::predefined_datatype(static_cast<int>(n)));
    }
    for (HandleNumber n = facts<mpi::Op>.null + 1; n <= facts<mpi::Op>.last; ++n) {
      bind(n, mpi::predefined_op(static_cast<int>(n)));
    }
    bind(0x109, mpi::empty_group());
    bind(0x129, &p.message_no_proc);
    bind(0x131, mpi::info_env());
    bind(0x141, &p.errors_are_fatal);
    bind(0x142, &p.errors_abort);
    bind(0x143, &p.errors_return);
    bind_communicators();
  }

  // They exist from MPI_Init to MPI_Finalize.
  void bind_communicators() {
    if (process().world_phase != mpi::Process::World::initialized) return;
    bind(0x101, process().world);
    bind(0x102, process().self);
  }

  template <class Object>
  void bind(HandleNumber number, Object* object) {
    predefined_[number] = object;
    if (object && object->handle == 0) object->handle = number;
  }

  template <class Object>
  static HandleNumber number_of(const Object& object) {
    return static_cast<HandleNumber>(object.handle);
  }

  // Whether the object's number is still its own: its slot may have been given to another object since.
  template <class Object>
  bool holds(const Object& object) {
    return object.handle != 0 && find<Object>(number_of(object)) == &object;
  }

  HandleTable table_;
  std::array<void*, predefined_numbers> predefined_{};
};

}  // namespace hf::abi
