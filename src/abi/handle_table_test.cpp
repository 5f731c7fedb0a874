#include "abi/handle_table.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hf::abi {
namespace {

TEST(HandleTable, FindsWhatWasAddedUnderItsKindOnly) {
  HandleTable table;
  int object = 0;
  const HandleNumber number = table.add(Kind::group, &object);
  EXPECT_GE(number, dynamic_numbers);
  EXPECT_LE(number, 0x7fffffffu);
  EXPECT_EQ(table.find(Kind::group, number), &object);
  EXPECT_EQ(table.find(Kind::comm, number), nullptr);
  EXPECT_EQ(table.find(Kind::group, number + 1), nullptr);
  EXPECT_EQ(table.find(Kind::group, 0), nullptr);
}

TEST(HandleTable, ADroppedNumberIsNoLongerValidAlthoughItsSlotIsUsedAgain) {
  HandleTable table;
  int first = 0, second = 0;
  const HandleNumber old_number = table.add(Kind::request, &first);
  table.drop(old_number);
  EXPECT_EQ(table.find(Kind::request, old_number), nullptr);
  const HandleNumber new_number = table.add(Kind::request, &second);
  EXPECT_NE(new_number, old_number);
  EXPECT_EQ(table.find(Kind::request, old_number), nullptr);
  EXPECT_EQ(table.find(Kind::request, new_number), &second);
}

TEST(HandleTable, ASharedNumberLastsUntilItsLastHandleIsDropped) {
  HandleTable table;
  int object = 0;
  const HandleNumber number = table.add(Kind::errhandler, &object);
  table.share(number);
  table.drop(number);
  EXPECT_EQ(table.find(Kind::errhandler, number), &object);
  table.drop(number);
  EXPECT_EQ(table.find(Kind::errhandler, number), nullptr);
}

TEST(HandleTable, GivesDistinctNumbersToManyObjects) {
  HandleTable table;
  std::vector<int> objects(10000);
  std::set<HandleNumber> numbers;
  for (int& object : objects) numbers.insert(table.add(Kind::datatype, &object));
  EXPECT_EQ(numbers.size(), objects.size());
  for (HandleNumber number : numbers) table.drop(number);
  for (int& object : objects) EXPECT_TRUE(numbers.insert(table.add(Kind::datatype, &object)).second);
}

}  // namespace
}  // namespace hf::abi
