#include "mpi/attribute.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/datatype.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"
#include "mpi/status.hpp"

namespace hf::mpi {
namespace {

// Records what is called; the callbacks of a real front end are functions of the program.
struct Recorder final : Frontend {
  mutable std::vector<std::string> calls;
  mutable int copy_result = 0, delete_result = 0;
  int copy(const char* what, int keyval, void* in, void* out, int* flag) const {
    calls.push_back(std::string(what) + " copy " + std::to_string(keyval));
    *static_cast<void**>(out) = static_cast<char*>(in) + 1;
    *flag = 1;
    return copy_result;
  }
  int remove(const char* what, int keyval) const {
    calls.push_back(std::string(what) + " delete " + std::to_string(keyval));
    return delete_result;
  }
  void call_op(const Callback&, const void*, void*, Count, Datatype&) const override {}
  int call_comm_copy_attribute(const Callback&, Comm&, int k, void*, void* in, void* out, int* flag) const override {
    return copy("comm", k, in, out, flag);
  }
  int call_comm_delete_attribute(const Callback&, Comm&, int k, void*, void*) const override {
    return remove("comm", k);
  }
  int call_type_copy_attribute(const Callback&, Datatype&, int k, void*, void* in, void* out,
                               int* flag) const override {
    return copy("type", k, in, out, flag);
  }
  int call_type_delete_attribute(const Callback&, Datatype&, int k, void*, void*) const override {
    return remove("type", k);
  }
  void call_comm_errhandler(const Callback&, Comm*, int*) const override {}
  void call_file_errhandler(const Callback&, int*) const override {}
  void call_session_errhandler(const Callback&, Session*, int*) const override {}
  int call_grequest_query(const Callback&, void*, Status&) const override { return 0; }
  int call_grequest_free(const Callback&, void*) const override { return 0; }
  int call_grequest_cancel(const Callback&, void*, int) const override { return 0; }
};

void* value(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

struct Attributes : testing::Test {
  Process p;
  Recorder front;
  Comm comm, other;
  Callback callback{.function = [] {}, .frontend = &front};
  int key(const Callback& copy, const Callback& remove) {
    int number = 0;
    EXPECT_EQ(comm_create_keyval(p, copy, remove, number, nullptr), success);
    return number;
  }
  void* get(Comm& from, int key) {
    void* out = nullptr;
    int flag = 0;
    EXPECT_EQ(comm_get_attr(p, from, key, &out, flag), success);
    return flag ? out : value(~0ul);
  }
};

TEST_F(Attributes, AreDeletedInReverseOrder) {
  const int a = key({}, callback), b = key({}, callback), c = key({}, {});
  for (int k : {a, b, c}) ASSERT_EQ(comm_set_attr(p, comm, k, value(7)), success);
  EXPECT_EQ(get(comm, b), value(7));
  ASSERT_EQ(comm_set_attr(p, comm, a, value(8)), success);  // replaces: the old value's delete callback
  EXPECT_EQ(front.calls, (std::vector<std::string>{"comm delete " + std::to_string(a)}));
  front.calls.clear();
  ASSERT_EQ(delete_attributes(p, comm), success);
  EXPECT_EQ(front.calls,
            (std::vector<std::string>{"comm delete " + std::to_string(a), "comm delete " + std::to_string(b)}));
}

TEST_F(Attributes, CopyOnDup) {
  const int none = key({}, {}), function = key(callback, {}),
            dup = key(Callback{.frontend = &front, .duplicates = true}, {});
  for (int k : {none, function, dup}) comm_set_attr(p, comm, k, value(10));
  ASSERT_EQ(copy_attributes(p, comm, other), success);
  EXPECT_EQ(get(other, none), value(~0ul));
  EXPECT_EQ(get(other, function), value(11));
  EXPECT_EQ(get(other, dup), value(10));
  delete_attributes(p, comm);
  delete_attributes(p, other);
}

TEST_F(Attributes, AFailedCopyLeavesNothing) {
  const int dup = key(Callback{.frontend = &front, .duplicates = true}, callback), function = key(callback, {});
  comm_set_attr(p, comm, dup, value(1));
  comm_set_attr(p, comm, function, value(2));
  front.copy_result = err_other;
  EXPECT_EQ(copy_attributes(p, comm, other), err_other);
  EXPECT_TRUE(other.attributes.entries.empty());
  EXPECT_EQ(front.calls.back(), "comm delete " + std::to_string(dup));
  delete_attributes(p, comm);
}

TEST_F(Attributes, AFailedDeleteKeepsTheAttribute) {
  const int k = key({}, callback);
  comm_set_attr(p, comm, k, value(1));
  front.delete_result = err_other;
  EXPECT_EQ(comm_delete_attr(p, comm, k), err_other);
  EXPECT_EQ(delete_attributes(p, comm), err_other);
  EXPECT_EQ(get(comm, k), value(1));
  front.delete_result = 0;
  EXPECT_EQ(comm_delete_attr(p, comm, k), success);
  EXPECT_EQ(comm_delete_attr(p, comm, k), success) << "nothing to delete is no error";
}

TEST_F(Attributes, FreedKeysLiveAsLongAsTheirAttributes) {
  int k = key(callback, callback), number = k, flag = 0;
  void* out = nullptr;
  comm_set_attr(p, comm, k, value(1));
  ASSERT_EQ(comm_free_keyval(p, k), success);
  EXPECT_EQ(k, 0);
  k = number;
  EXPECT_EQ(comm_free_keyval(p, k), err_keyval);
  EXPECT_EQ(comm_set_attr(p, comm, number, value(1)), err_keyval);
  ASSERT_EQ(copy_attributes(p, comm, other), success);
  EXPECT_EQ(get(other, number), value(2));
  EXPECT_EQ(get(comm, number), value(1));
  ASSERT_EQ(comm_delete_attr(p, comm, number), success);
  EXPECT_EQ(get(comm, number), value(~0ul));
  EXPECT_EQ(get(other, number), value(2));
  ASSERT_EQ(delete_attributes(p, other), success);
  EXPECT_EQ(front.calls.size(), 3u);
  EXPECT_EQ(comm_get_attr(p, comm, number, &out, flag), err_keyval);
  EXPECT_EQ(comm_delete_attr(p, comm, number), err_keyval);
}

TEST_F(Attributes, FreedKeysOfTypesToo) {
  int k = 0;
  type_create_keyval(p, {}, callback, k, nullptr);
  const int number = k;
  Datatype* type = nullptr;
  type_dup(p, *predefined_datatype(0x209), type);
  ASSERT_EQ(type_set_attr(p, *type, k, value(4)), success);
  ASSERT_EQ(type_free_keyval(p, k), success);
  EXPECT_EQ(type_delete_attr(p, *type, number), success);
  EXPECT_EQ(front.calls.size(), 1u);
  EXPECT_EQ(type_delete_attr(p, *type, number), err_keyval);
  EXPECT_EQ(type_free(p, type), success);
}

TEST_F(Attributes, KindsAreKeptApart) {
  int type_key = 0, flag = 0;
  void* out = nullptr;
  type_create_keyval(p, callback, callback, type_key, nullptr);
  EXPECT_EQ(comm_set_attr(p, comm, type_key, nullptr), err_keyval);
  Datatype *type = nullptr, *copy = nullptr;
  type_dup(p, *predefined_datatype(0x209), type);
  ASSERT_EQ(type_set_attr(p, *type, type_key, value(4)), success);
  ASSERT_EQ(type_dup(p, *type, copy), success);
  ASSERT_EQ(type_get_attr(p, *copy, type_key, &out, flag), success);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(out, value(5));
  EXPECT_EQ(type_free(p, type), success);
  EXPECT_EQ(type_free(p, copy), success);
  EXPECT_EQ(front.calls.size(), 3u);
}

TEST_F(Attributes, Predefined) {
  constexpr int tag_ub_key = 501, last_used_code = 506;
  EXPECT_EQ(*static_cast<int*>(get(comm, tag_ub_key)), tag_ub);
  EXPECT_EQ(*static_cast<int*>(get(comm, last_used_code)), err_lastcode);
  int added = 0;
  add_error_class(p, added);
  EXPECT_EQ(*static_cast<int*>(get(comm, last_used_code)), added);
  EXPECT_EQ(comm_set_attr(p, comm, tag_ub_key, nullptr), err_keyval);
  EXPECT_EQ(comm_delete_attr(p, comm, tag_ub_key), err_keyval);
}

}  // namespace
}  // namespace hf::mpi
