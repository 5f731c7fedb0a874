#include "mpi/info.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mpi/api.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

struct Infos : testing::Test {
  Process p;
  Info info;
  char text[1024] = "untouched";
  int flag = -1;
};

TEST_F(Infos, KeysKeepTheirOrder) {
  for (const char* key : {"z", "a", "m"}) ASSERT_EQ(info_set(p, info, key, "1"), success);
  ASSERT_EQ(info_set(p, info, "a", "2"), success);
  ASSERT_EQ(info_delete(p, info, "z"), success);
  EXPECT_EQ(info_delete(p, info, "z"), err_info_nokey);
  int n = 0;
  info_get_nkeys(p, info, n);
  EXPECT_EQ(n, 2);
  ASSERT_EQ(info_get_nthkey(p, info, 0, text), success);
  EXPECT_STREQ(text, "a");
  EXPECT_EQ(info_get_nthkey(p, info, 2, text), err_arg);
  ASSERT_EQ(info_get(p, info, "a", 10, text, flag), success);
  EXPECT_STREQ(text, "2");
}

TEST_F(Infos, ValuesAreCutAndMeasured) {
  info_set(p, info, "key", "value");
  info_get(p, info, "key", 3, text, flag);
  EXPECT_STREQ(text, "val");
  int length = 3;
  info_get_string(p, info, "key", length, text, flag);
  EXPECT_STREQ(text, "va");
  EXPECT_EQ(length, 6);
  length = 0;
  info_get_string(p, info, "key", length, nullptr, flag);
  EXPECT_EQ(length, 6);
  info_get_valuelen(p, info, "key", length, flag);
  EXPECT_EQ(length, 5);
  length = 7;
  info_get_string(p, info, "none", length, text, flag);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(length, 7);
  EXPECT_STREQ(text, "va");
}

TEST_F(Infos, LengthsAreChecked) {
  EXPECT_EQ(info_set(p, info, std::string(255, 'k').c_str(), std::string(1023, 'v').c_str()), success);
  EXPECT_EQ(info_set(p, info, std::string(256, 'k').c_str(), "v"), err_info_key);
  EXPECT_EQ(info_set(p, info, "", "v"), err_info_key);
  EXPECT_EQ(info_set(p, info, "k", std::string(1024, 'v').c_str()), err_info_value);
}

TEST_F(Infos, Environment) {
  Info* env = info_env();
  EXPECT_NE(env->find("command"), nullptr);
  EXPECT_NE(env->find("wdir"), nullptr);
  EXPECT_EQ(info_set(p, *env, "command", "x"), err_info);
  EXPECT_EQ(info_free(p, env), err_info);
  char program[] = "program", argument[] = "argument";
  char* words[] = {program, argument};
  Info* made = nullptr;
  ASSERT_EQ(info_create_env(p, 2, words, made), success);
  EXPECT_EQ(*made->find("command"), "program");
  EXPECT_EQ(*made->find("argv"), "argument");
  EXPECT_EQ(*made->find("wdir"), *env->find("wdir"));
  info_free(p, made);
}

}  // namespace
}  // namespace hf::mpi
