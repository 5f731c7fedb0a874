// The same mpi/ behind a second front end (design section 11): a job of one rank through fake_abi.hpp.
#include "fake_abi.hpp"

#include <gtest/gtest.h>

#include "abi/entry/collectives.hpp"
#include "abi/entry/communicators.hpp"
#include "abi/entry/datatypes.hpp"
#include "abi/entry/environment.hpp"
#include "abi/entry/errors.hpp"
#include "abi/entry/point_to_point.hpp"
#include "abi/front.hpp"

namespace hf::abi {
namespace {

template <class Handle>
Handle predefined(HandleNumber number) {
  return Fake::handle<Handle>(number);
}
const auto world = predefined<Fake::Comm>(0x101), self = predefined<Fake::Comm>(0x102);
const auto comm_null = predefined<Fake::Comm>(0x100);
const auto int_type = predefined<Fake::Datatype>(0x209);
const auto request_null = predefined<Fake::Request>(0x180);
const auto errors_return = predefined<Fake::Errhandler>(0x143);
FakeStatus* const ignore = reinterpret_cast<FakeStatus*>(9);

template <class Function>
Function* special(std::uintptr_t value) {
  return reinterpret_cast<Function*>(value);
}

class FakeFrontend : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(entry::init<Fake>(nullptr, nullptr), 0);
    ASSERT_EQ((entry::comm_set_errhandler<Fake>(world, errors_return)), 0);
    ASSERT_EQ((entry::comm_set_errhandler<Fake>(self, errors_return)), 0);
  }
  static void TearDownTestSuite() { EXPECT_EQ(front::finalize<Fake>(), 0); }
};

TEST_F(FakeFrontend, HandlesOfTheStandardAbiMeanNothingHere) {
  int size = 0;
  EXPECT_EQ(entry::comm_size<Fake>(world, &size), 0);
  EXPECT_EQ(size, 1);
  EXPECT_EQ(entry::comm_size<Fake>(Fake::Comm{0x101}, &size), mpi::err_comm);
  EXPECT_EQ(entry::comm_size<Fake>(comm_null, &size), mpi::err_comm);
}

TEST_F(FakeFrontend, SendsReceivesAndFillsItsOwnStatus) {
  int out[3] = {1, 2, 3}, in[3] = {};
  Fake::Request request;
  FakeStatus status;
  ASSERT_EQ((entry::irecv<Fake, int>(in, 3, int_type, 0, 7, world, &request)), 0);
  EXPECT_NE(request, request_null);
  ASSERT_EQ((entry::send<Fake, mpi::Count>(out, 3, int_type, 0, 7, world)), 0);
  ASSERT_EQ(entry::wait<Fake>(&request, &status), 0);
  EXPECT_EQ(request, request_null);
  EXPECT_EQ(in[2], 3);
  EXPECT_EQ(status.message_source, 0);
  EXPECT_EQ(status.message_tag, 7);
  EXPECT_EQ(status.error_code, -1) << "calls with one status leave the error alone";
  int count = 0;
  ASSERT_EQ((entry::get_count<Fake, int>(&status, int_type, &count)), 0);
  EXPECT_EQ(count, 3);
}

TEST_F(FakeFrontend, CompletesArraysOfRequests) {
  int out = 5, in = 0;
  Fake::Request requests[3] = {request_null};
  ASSERT_EQ((entry::irecv<Fake, int>(&in, 1, int_type, 0, 1, self, &requests[1])), 0);
  ASSERT_EQ((entry::isend<Fake, int>(&out, 1, int_type, 0, 1, self, &requests[2])), 0);
  ASSERT_EQ(entry::waitall<Fake>(3, requests, ignore), 0);
  for (const Fake::Request& request : requests) EXPECT_EQ(request, request_null);
  EXPECT_EQ(in, 5);
  requests[0] = Fake::Request{3};
  EXPECT_EQ(entry::waitall<Fake>(3, requests, ignore), mpi::err_request);
}

Fake::Comm copied_from;
int copy_attribute(Fake::Comm comm, int, void*, void* in, void* out, int* flag) {
  copied_from = comm;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return 0;
}

TEST_F(FakeFrontend, AttributeCallbacksSeeItsHandles) {
  int called = 0, duplicated = 0, dropped = 0, flag = 0;
  auto* const none = special<Fake::Comm_delete_attr_function>(7);
  ASSERT_EQ(entry::comm_create_keyval<Fake>(copy_attribute, none, &called, nullptr), 0);
  ASSERT_EQ(entry::comm_create_keyval<Fake>(special<Fake::Comm_copy_attr_function>(8), none, &duplicated, nullptr), 0);
  ASSERT_EQ(entry::comm_create_keyval<Fake>(special<Fake::Comm_copy_attr_function>(7), none, &dropped, nullptr), 0);
  int value = 0;
  for (int keyval : {called, duplicated, dropped}) ASSERT_EQ(entry::comm_set_attr<Fake>(world, keyval, &value), 0);
  Fake::Comm copy;
  ASSERT_EQ(entry::comm_dup<Fake>(world, &copy), 0);
  EXPECT_EQ(copied_from, world);
  void* found = nullptr;
  for (auto [keyval, expected] : {std::pair{called, 1}, {duplicated, 1}, {dropped, 0}}) {
    ASSERT_EQ(entry::comm_get_attr<Fake>(copy, keyval, &found, &flag), 0);
    EXPECT_EQ(flag, expected);
    ASSERT_EQ(entry::comm_delete_attr<Fake>(world, keyval), 0);
  }
  const Fake::Comm freed = copy;
  ASSERT_EQ(entry::comm_free<Fake>(&copy), 0);
  EXPECT_EQ(copy, comm_null);
  int rank = 0;
  EXPECT_EQ(entry::comm_rank<Fake>(freed, &rank), mpi::err_comm);
}

Fake::Datatype reduced_type;
void maximum(void* in, void* inout, int* length, Fake::Datatype* type) {
  reduced_type = *type;
  for (int i = 0; i < *length; ++i) {
    static_cast<int*>(inout)[i] = std::max(static_cast<int*>(in)[i], static_cast<int*>(inout)[i]);
  }
}
void maximum_c(void* in, void* inout, mpi::Count* length, Fake::Datatype* type) {
  int small = static_cast<int>(*length);
  maximum(in, inout, &small, type);
}

TEST_F(FakeFrontend, ReductionsOfTheProgramSeeItsHandles) {
  for (bool large : {false, true}) {
    Fake::Op op;
    if (large) {
      ASSERT_EQ((entry::op_create<Fake, mpi::Count>(maximum_c, 1, &op)), 0);
    } else {
      ASSERT_EQ((entry::op_create<Fake, int>(maximum, 1, &op)), 0);
    }
    int in[2] = {4, 9}, inout[2] = {6, 2};
    reduced_type = {};
    ASSERT_EQ((entry::reduce_local<Fake, int>(in, inout, 2, int_type, op)), 0);
    EXPECT_EQ(reduced_type, int_type);
    EXPECT_EQ(inout[0], 6);
    EXPECT_EQ(inout[1], 9);
    ASSERT_EQ(entry::op_free<Fake>(&op), 0);
    EXPECT_EQ(op, predefined<Fake::Op>(0x20));
  }
}

Fake::Comm failed_on;
int failed_with = 0;
void note_error(Fake::Comm* comm, int* code, ...) {
  failed_on = *comm;
  failed_with = *code;
}

TEST_F(FakeFrontend, ErrorHandlersSeeItsHandles) {
  Fake::Errhandler handler, current;
  ASSERT_EQ(entry::comm_create_errhandler<Fake>(note_error, &handler), 0);
  ASSERT_EQ(entry::comm_set_errhandler<Fake>(world, handler), 0);
  int value = 0;
  EXPECT_EQ((entry::send<Fake, int>(&value, -1, int_type, 0, 0, world)), mpi::err_count);
  EXPECT_EQ(failed_on, world);
  EXPECT_EQ(failed_with, mpi::err_count);
  ASSERT_EQ(entry::comm_get_errhandler<Fake>(world, &current), 0);
  EXPECT_EQ(current, handler);
  ASSERT_EQ(entry::errhandler_free<Fake>(&current), 0);
  ASSERT_EQ(entry::errhandler_free<Fake>(&handler), 0);
  ASSERT_EQ(entry::comm_set_errhandler<Fake>(world, errors_return), 0);
}

TEST_F(FakeFrontend, DerivedTypesTellTheirContentsInItsHandles) {
  Fake::Datatype pair, inner;
  ASSERT_EQ((entry::type_contiguous<Fake, int>(2, int_type, &pair)), 0);
  int buffer[4] = {};
  EXPECT_EQ((entry::send<Fake, int>(buffer, 1, pair, 0, 0, world)), mpi::err_type) << "not committed";
  ASSERT_EQ(entry::type_commit<Fake>(&pair), 0);
  int integer = 0;
  ASSERT_EQ((entry::type_get_contents<Fake, int>(pair, 1, 0, 0, 1, &integer, nullptr, nullptr, &inner)), 0);
  EXPECT_EQ(integer, 2);
  EXPECT_EQ(inner, int_type);
  ASSERT_EQ(entry::type_free<Fake>(&pair), 0);
}

}  // namespace
}  // namespace hf::abi
