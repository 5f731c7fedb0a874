#include "mpi/attribute.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/datatype.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int first_number = 0x10000;  // above those of the predefined attributes

// How the callbacks of the two kinds of objects are called.
struct OfComm {
  using Object = Comm;
  static constexpr Keyval::Kind kind = Keyval::Kind::comm;
  static int call_copy(const Keyval& k, Comm& from, void* value, void** out, int* flag) {
    return k.copy.frontend->call_comm_copy_attribute(k.copy, from, k.number, k.extra, value, out, flag);
  }
  static int call_delete(const Keyval& k, Comm& object, void* value) {
    return k.remove.frontend->call_comm_delete_attribute(k.remove, object, k.number, value, k.extra);
  }
};
struct OfType {
  using Object = Datatype;
  static constexpr Keyval::Kind kind = Keyval::Kind::type;
  static int call_copy(const Keyval& k, Datatype& from, void* value, void** out, int* flag) {
    return k.copy.frontend->call_type_copy_attribute(k.copy, from, k.number, k.extra, value, out, flag);
  }
  static int call_delete(const Keyval& k, Datatype& object, void* value) {
    return k.remove.frontend->call_type_delete_attribute(k.remove, object, k.number, value, k.extra);
  }
};

Attribute* find(AttributeMap& map, const Keyval* keyval) {
  auto it = std::ranges::find(map.entries, keyval, &Attribute::keyval);
  return it == map.entries.end() ? nullptr : &*it;
}

// Calls the delete callback, then takes the attribute out. The callback may change other attributes of the object.
template <class Of>
int remove(Process& p, typename Of::Object& object, Keyval* keyval) {
  Attribute* attribute = find(object.attributes, keyval);
  if (!attribute) return success;
  if (keyval->remove) {
    retain(keyval);
    const int code = Of::call_delete(*keyval, object, attribute->value);
    attribute = find(object.attributes, keyval);
    p.keyvals.drop(*keyval);
    if (code != success) return p.explain(code, "the delete callback of an attribute failed");
    if (!attribute) return success;
  }
  object.attributes.entries.erase(object.attributes.entries.begin() + (attribute - object.attributes.entries.data()));
  p.keyvals.drop(*keyval);
  return success;
}

template <class Of>
int remove_all(Process& p, typename Of::Object& object) {
  while (!object.attributes.entries.empty()) {
    if (int code = remove<Of>(p, object, object.attributes.entries.back().keyval)) return code;
  }
  return success;
}

template <class Of>
int copy_all(Process& p, typename Of::Object& from, typename Of::Object& to) {
  std::vector<Attribute> entries = from.attributes.entries;
  for (const Attribute& attribute : entries) retain(attribute.keyval);
  int code = success;
  for (const Attribute& attribute : entries) {
    const Keyval& keyval = *attribute.keyval;
    void* value = attribute.value;
    int flag = keyval.copy.duplicates;
    if (keyval.copy && !keyval.copy.duplicates) code = Of::call_copy(keyval, from, attribute.value, &value, &flag);
    if (code != success) break;
    if (flag) to.attributes.entries.push_back({retain(attribute.keyval), value});
  }
  for (const Attribute& attribute : entries) p.keyvals.drop(*attribute.keyval);
  if (code == success) return success;
  remove_all<Of>(p, to);
  return p.explain(code, "the copy callback of an attribute failed");
}

int unknown_keyval(Process& p, int number) {
  return p.explain(err_keyval, fmt::format("{} is not a key of this kind of object, or one that was freed", number));
}

template <class Of>
int set(Process& p, typename Of::Object& object, int number, void* value) {
  Keyval* keyval = p.keyvals.find(Of::kind, number);
  if (!keyval || keyval->freed) return unknown_keyval(p, number);
  retain(keyval);  // the callback may free the key
  if (int code = remove<Of>(p, object, keyval)) {
    p.keyvals.drop(*keyval);
    return code;
  }
  object.attributes.entries.push_back({keyval, value});
  return success;
}

template <class Of>
int get(Process& p, typename Of::Object& object, int number, void* value, int& flag) {
  Keyval* keyval = p.keyvals.find(Of::kind, number);
  if (!keyval) return unknown_keyval(p, number);
  const Attribute* attribute = find(object.attributes, keyval);
  flag = attribute != nullptr;
  if (attribute) *static_cast<void**>(value) = attribute->value;
  return success;
}

template <class Of>
int remove_one(Process& p, typename Of::Object& object, int number) {
  Keyval* keyval = p.keyvals.find(Of::kind, number);
  return keyval ? remove<Of>(p, object, keyval) : unknown_keyval(p, number);
}

int free_keyval(Process& p, Keyval::Kind kind, int& number) {
  Keyval* keyval = p.keyvals.find(kind, number);
  if (!keyval || keyval->freed) return unknown_keyval(p, number);
  p.keyvals.free(*keyval);
  number = 0;  // MPI_KEYVAL_INVALID
  return success;
}

// Of MPI_COMM_WORLD, and alike on every communicator.
int* predefined_attribute(Process& p, int number) {
  enum { tag_ub = 501, io, host, wtime_is_global, appnum, last_used_code, universe_size };
  PredefinedAttributes& values = p.predefined_attributes;
  switch (number) {
    case tag_ub:
      return &values.tag_ub;
    case io:
      return &values.io;
    case host:
      return &values.host;
    case wtime_is_global:
      return &values.wtime_is_global;
    case appnum:
      return &values.appnum;
    case last_used_code:
      return &values.last_used_code;
    case universe_size:
      return &values.universe_size;
    default:
      return nullptr;
  }
}

// Taken anew at each question: what they say is known only after MPI_Init, or may change.
void update_predefined(Process& p) {
  static const engine::JobMap none;
  const engine::JobMap& job = p.engine ? p.engine->job() : none;
  p.predefined_attributes = {
      .tag_ub = tag_ub,
      .io = any_source,   // every rank can
      .host = proc_null,  // there is none
      .wtime_is_global = 0,
      .appnum = job.app_number,
      .last_used_code = p.error_codes.last_used(),
      .universe_size = job.rank_count,
  };
}

}  // namespace

KeyvalTable::~KeyvalTable() {
  for (Keyval* keyval : keyvals_) release(keyval);
}

int KeyvalTable::add(Keyval::Kind kind, const Callback& copy, const Callback& remove, void* extra) {
  auto* keyval = new Keyval;
  keyval->kind = kind;
  keyval->number = first_number + static_cast<int>(keyvals_.size());
  keyval->copy = copy;
  keyval->remove = remove;
  keyval->extra = extra;
  keyvals_.push_back(keyval);
  return keyval->number;
}

Keyval* KeyvalTable::find(Keyval::Kind kind, int number) const {
  const auto index = static_cast<std::size_t>(number) - first_number;
  if (number < first_number || index >= keyvals_.size()) return nullptr;
  Keyval* keyval = keyvals_[index];
  return keyval && keyval->kind == kind ? keyval : nullptr;
}

void KeyvalTable::free(Keyval& keyval) {
  keyval.freed = true;
  forget_unused(keyval);
}

void KeyvalTable::drop(Keyval& keyval) {
  --keyval.references;
  forget_unused(keyval);
}

// The reference that is left is the table's.
void KeyvalTable::forget_unused(Keyval& keyval) {
  if (!keyval.freed || keyval.references > 1) return;
  keyvals_[static_cast<std::size_t>(keyval.number - first_number)] = nullptr;
  release(&keyval);
}

int delete_attributes(Process& p, Comm& comm) {
  return remove_all<OfComm>(p, comm);
}
int delete_attributes(Process& p, Datatype& type) {
  return remove_all<OfType>(p, type);
}
int copy_attributes(Process& p, Comm& from, Comm& to) {
  return copy_all<OfComm>(p, from, to);
}
int copy_attributes(Process& p, Datatype& from, Datatype& to) {
  return copy_all<OfType>(p, from, to);
}

int comm_create_keyval(Process& p, Callback copy, Callback remove, int& keyval, void* extra) {
  keyval = p.keyvals.add(Keyval::Kind::comm, copy, remove, extra);
  return success;
}
int type_create_keyval(Process& p, Callback copy, Callback remove, int& keyval, void* extra) {
  keyval = p.keyvals.add(Keyval::Kind::type, copy, remove, extra);
  return success;
}
int win_create_keyval(Process& p, Callback copy, Callback remove, int& keyval, void* extra) {
  keyval = p.keyvals.add(Keyval::Kind::win, copy, remove, extra);
  return success;
}

int comm_free_keyval(Process& p, int& keyval) {
  return free_keyval(p, Keyval::Kind::comm, keyval);
}
int type_free_keyval(Process& p, int& keyval) {
  return free_keyval(p, Keyval::Kind::type, keyval);
}
int win_free_keyval(Process& p, int& keyval) {
  return free_keyval(p, Keyval::Kind::win, keyval);
}

int comm_set_attr(Process& p, Comm& comm, int keyval, void* value) {
  if (predefined_attribute(p, keyval)) return p.explain(err_keyval, "a predefined attribute cannot be set");
  return set<OfComm>(p, comm, keyval, value);
}
int type_set_attr(Process& p, Datatype& type, int keyval, void* value) {
  return set<OfType>(p, type, keyval, value);
}

int comm_get_attr(Process& p, Comm& comm, int keyval, void* value, int& flag) {
  if (int* predefined = predefined_attribute(p, keyval)) {
    update_predefined(p);
    *static_cast<void**>(value) = predefined;
    flag = 1;
    return success;
  }
  return get<OfComm>(p, comm, keyval, value, flag);
}
int type_get_attr(Process& p, Datatype& type, int keyval, void* value, int& flag) {
  return get<OfType>(p, type, keyval, value, flag);
}

int comm_delete_attr(Process& p, Comm& comm, int keyval) {
  if (predefined_attribute(p, keyval)) return p.explain(err_keyval, "a predefined attribute cannot be deleted");
  return remove_one<OfComm>(p, comm, keyval);
}
int type_delete_attr(Process& p, Datatype& type, int keyval) {
  return remove_one<OfType>(p, type, keyval);
}

}  // namespace hf::mpi
