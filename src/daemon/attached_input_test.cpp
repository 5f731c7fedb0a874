#include "daemon/attached_input.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hf::daemon {
namespace {

class Attached : public ::testing::Test {
 protected:
  static Json data(const std::string& text) { return {{"request", "input"}, {"data", to_base64(text)}}; }
  std::string ask(const Json& request) {
    const Json answer = input_.on_request(ClientId(1), request);
    return answer.is_null() ? "later" : answer.dump();
  }
  const Json end_ = {{"request", "input"}, {"end", true}};
  const std::string taken_ = R"({"taken":true})", over_ = R"({"error":"standard input of rank 0 has ended"})";
  os::EventLoop loop_;
  ClientDoor door_{loop_, [](const std::string&) {}};
  std::string given_;
  AttachedInput input_{door_, [this](Bytes bytes) { given_ += bytes.empty() ? "<end>" : std::string(text_of(bytes)); }};
};

TEST_F(Attached, WhatComesBeforeTheAgentsWaits) {
  EXPECT_EQ(ask(data("one ")), "later");
  EXPECT_EQ(ask(data("two")), "later");
  EXPECT_EQ(ask(end_), "later");
  EXPECT_EQ(ask(data("three")), over_);
  EXPECT_EQ(given_, "");
  input_.open();
  EXPECT_EQ(given_, "one two<end>");
  EXPECT_EQ(ask(data("four")), over_);
}

TEST_F(Attached, EndsOnce) {
  input_.open();
  EXPECT_EQ(ask(data("one")), taken_);
  EXPECT_EQ(ask(end_), taken_);
  EXPECT_EQ(ask(end_), over_);
  EXPECT_EQ(given_, "one<end>");
}

TEST_F(Attached, NoMoreThanTheWindowIsAnswered) {
  input_.open();
  const std::string piece(32 * 1024, 'x');
  for (int i = 0; i < 7; ++i) EXPECT_EQ(ask(data(piece)), taken_);
  EXPECT_EQ(ask(data(piece)), "later");
  EXPECT_EQ(ask(data("y")), "later");
  input_.on_taken(1);
  EXPECT_EQ(ask(data("y")), "later");
  input_.on_taken(2);
  EXPECT_EQ(ask(data("")), R"({"error":"the request has neither \"data\" nor \"end\", or both"})");
  input_.on_taken(piece.size());
  EXPECT_EQ(ask(data("z")), taken_);
}

TEST_F(Attached, NothingButDataOrAnEnd) {
  input_.open();
  for (const char* request : {R"({})", R"({"data":1})", R"({"data":"%%"})", R"({"data":"eA==","end":true})", R"({"end":1})"}) {
    EXPECT_NE(ask(Json::parse(request)).find("neither"), std::string::npos) << request;
  }
  input_.close();
  EXPECT_EQ(ask(data("x")), over_);
  EXPECT_EQ(given_, "");
}

}  // namespace
}  // namespace hf::daemon
