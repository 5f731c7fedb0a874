#include "daemon/job_names.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

std::string choose(const std::vector<std::string>& ids, const std::string& given) {
  Result<std::string> id = choose_id(ids, given, "running job");
  return id ? *id : "error: " + id.error().text;
}

TEST(ChooseId, ByAnUnambiguousBeginning) {
  const std::vector<std::string> ids = {"bakofu", "bakori", "digola"};
  EXPECT_EQ(choose(ids, "digola"), "digola");
  EXPECT_EQ(choose(ids, "d"), "digola");
  EXPECT_EQ(choose(ids, "bakor"), "bakori");
  EXPECT_EQ(choose(ids, "bak"), "error: bak may be bakofu, bakori: give more letters");
  EXPECT_EQ(choose(ids, "x"), "error: there is no running job x (holdfast ps -a)");
  EXPECT_EQ(choose(ids, "bakofuu"), "error: there is no running job bakofuu (holdfast ps -a)");
}

TEST(ChooseId, TheOnlyOneNeedNotBeNamed) {
  EXPECT_EQ(choose({"digola"}, ""), "digola");
  EXPECT_EQ(choose({}, ""), "error: there is no running job (holdfast ps -a)");
  EXPECT_EQ(choose({"bakofu", "digola"}, ""), "error: which running job? There are bakofu, digola");
}

}  // namespace
}  // namespace hf::daemon
