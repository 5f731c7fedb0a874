#include "os/loaded_mpi.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hf::os {
namespace {

constexpr std::string_view own = "/opt/h/lib/libmpi_abi.so.1.0", line = "7f00-7f01 r-xp 00000000 08:01 12 ";

std::string maps_of(std::initializer_list<std::string_view> paths) {
  std::string out = "5500-5600 rw-p 00000000 00:00 0\n";
  for (std::string_view path : paths) out += std::string(line).append(path).append("\n");
  return out;
}

TEST(LoadedMpi, None) {
  const LoadedMpi found = find_loaded_mpi(maps_of({"/usr/lib/libc.so.6", "[heap]", "/home/libmpi/libx.so"}), own);
  EXPECT_FALSE(found.own);
  EXPECT_EQ(found.other, "");
}

TEST(LoadedMpi, OursAndAnotherInAnyOrder) {
  for (auto paths : {maps_of({own, "/usr/lib/libmpi.so.40.30.4"}), maps_of({"/usr/lib/libmpi.so.40.30.4", own})}) {
    const LoadedMpi found = find_loaded_mpi(paths, own);
    EXPECT_TRUE(found.own);
    EXPECT_EQ(found.other, "/usr/lib/libmpi.so.40.30.4");
  }
}

TEST(LoadedMpi, OneOfTheSameNameElsewhereIsAnother) {
  EXPECT_EQ(find_loaded_mpi(maps_of({"/opt/mpich/lib/libmpi_abi.so.1.0", "/a b/libmpich.so"}), own).other, "/opt/mpich/lib/libmpi_abi.so.1.0");
  EXPECT_EQ(find_loaded_mpi("12 /x/libmpi.so", own).other, "/x/libmpi.so");  // without an end of line
}

TEST(LoadedMpi, ThisProcessHasNone) {
  EXPECT_EQ(find_loaded_mpi(read_maps(::getpid()), own).other, "");
  EXPECT_NE(read_maps(::getpid()).find("libc.so"), std::string::npos);
  EXPECT_EQ(read_maps(0), "");
}

}  // namespace
}  // namespace hf::os
