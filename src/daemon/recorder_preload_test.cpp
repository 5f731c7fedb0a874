#include "daemon/recorder_preload.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace hf::daemon {
namespace {

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RecorderPreload, DynamicProgramsAndScriptsHaveIt) {
  EXPECT_EQ(why_not_preloaded(bytes_of("#!/bin/sh\n")), "");
  EXPECT_EQ(why_not_preloaded({}), "");
  const std::string program = own_program();
  const bool sanitized = why_not_preloaded(bytes_of(program)) == "a sanitizer replaces the same functions";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(sanitized);
#else
  EXPECT_FALSE(sanitized);
  EXPECT_EQ(why_not_preloaded(bytes_of(program)), "");
#endif
}

TEST(RecorderPreload, TornFilesAreRead) {
  const std::string program = own_program();
  for (std::size_t bytes = 0; bytes < 8192; bytes += 7) why_not_preloaded(bytes_of(std::string_view(program).substr(0, bytes)));
  // Its headers alone, without the part that names the loader.
  EXPECT_EQ(why_not_preloaded(bytes_of(std::string_view(program).substr(0, 64))), "the program is linked statically");
}

TEST(RecorderPreload, WhatIsPreloadedAlreadyStays) {
  std::vector<std::string> environment{"A=1"};
  preload("/r.so", environment);
  EXPECT_EQ(environment, (std::vector<std::string>{"A=1", "LD_PRELOAD=/r.so", "LD_BIND_NOW=1"}));
  environment = {"LD_PRELOAD=/other.so", "LD_BIND_NOW=", "A=1"};
  preload("/r.so", environment);
  EXPECT_EQ(environment, (std::vector<std::string>{"LD_PRELOAD=/r.so:/other.so", "LD_BIND_NOW=", "A=1"}));
}

TEST(RecorderPreload, ARankThatStartsAJobDoesNotPreloadForIt) {
  std::vector<std::string> environment{"LD_PRELOAD=/a/libholdfast_recorder.so", "A=1"};
  do_not_preload(environment);
  EXPECT_EQ(environment, (std::vector<std::string>{"A=1"}));
  environment = {"LD_PRELOAD=/x.so /a/libholdfast_recorder.so:/y.so", "B=libholdfast_recorder.so"};
  do_not_preload(environment);
  EXPECT_EQ(environment, (std::vector<std::string>{"LD_PRELOAD=/x.so:/y.so", "B=libholdfast_recorder.so"}));
}

}  // namespace
}  // namespace hf::daemon
