#include "daemon/environment.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;

TEST(Environment, AValueComesFirstInItsList) {
  Words environment{"A=1"};
  prepend(environment, "P", "/x");
  EXPECT_EQ(environment, (Words{"A=1", "P=/x"}));
  prepend(environment, "P", "/y");
  EXPECT_EQ(environment, (Words{"A=1", "P=/y:/x"}));
  environment = {"PP=0", "P="};
  prepend(environment, "P", "/x");
  EXPECT_EQ(environment, (Words{"PP=0", "P=/x"}));  // no empty word, which means the current directory in some lists
}

}  // namespace
}  // namespace hf::daemon
