#include "mpi/error_codes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

struct Errors : testing::Test {
  Process p;
  std::string string_of(int code) {
    char text[512];
    int length = 0;
    EXPECT_EQ(error_string(p, code, text, length), success);
    EXPECT_EQ(static_cast<std::size_t>(length), std::string(text).size());
    return text;
  }
};

TEST_F(Errors, EveryClassHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (int code = success; code <= err_abi; ++code) {
    texts.insert(string_of(code));
    int of = -1;
    EXPECT_EQ(error_class(p, code, of), success);
    EXPECT_EQ(of, code);
  }
  EXPECT_EQ(texts.size(), 63u);
  EXPECT_TRUE(string_of(err_truncate).starts_with("MPI_ERR_TRUNCATE"));
  EXPECT_TRUE(string_of(1018).starts_with("MPI_T_ERR_PVAR_NO_ATOMIC"));
  int of = 0;
  EXPECT_EQ(error_class(p, 63, of), err_arg);
  EXPECT_EQ(error_class(p, -1, of), err_arg);
}

TEST_F(Errors, AddedClassesAndCodes) {
  int added = 0, first = 0, second = 0, of = 0;
  ASSERT_EQ(add_error_class(p, added), success);
  EXPECT_EQ(added, err_lastcode + 1);
  EXPECT_EQ(string_of(added), "");
  ASSERT_EQ(add_error_code(p, added, first), success);
  ASSERT_EQ(add_error_code(p, err_other, second), success);
  EXPECT_EQ(add_error_code(p, first, of), err_arg);
  ASSERT_EQ(add_error_string(p, first, "first"), success);
  EXPECT_EQ(string_of(first), "first");
  error_class(p, first, of);
  EXPECT_EQ(of, added);
  error_class(p, second, of);
  EXPECT_EQ(of, err_other);
  EXPECT_EQ(add_error_string(p, err_other, "mine"), err_arg);
}

TEST_F(Errors, RemovalFromTheInside) {
  int added = 0, code = 0;
  add_error_class(p, added);
  add_error_code(p, added, code);
  add_error_string(p, code, "text");
  EXPECT_EQ(remove_error_class(p, added), err_arg);
  EXPECT_EQ(remove_error_code(p, code), err_arg);
  EXPECT_EQ(remove_error_string(p, code), success);
  EXPECT_EQ(remove_error_code(p, added), err_arg);
  EXPECT_EQ(remove_error_code(p, code), success);
  EXPECT_EQ(remove_error_code(p, code), err_arg);
  EXPECT_EQ(remove_error_class(p, added), success);
  EXPECT_EQ(remove_error_class(p, added), err_arg);
  EXPECT_EQ(remove_error_class(p, 0), err_arg);
  EXPECT_EQ(remove_error_string(p, 0), err_arg);
}

}  // namespace
}  // namespace hf::mpi
