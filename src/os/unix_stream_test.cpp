#include "os/unix_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace hf::os {
namespace {

class UnixStream : public ::testing::Test {
 protected:
  UnixStream() {
    std::string name = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~UnixStream() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(UnixStream, ListensUnderANameThatIsTakenOnce) {
  auto directory = make_private_directory(path_ + "/" + std::string(200, 'd'));  // longer than an address holds
  ASSERT_TRUE(directory) << directory.error().text;
  auto listener = listen_unix(directory->get(), "job");
  ASSERT_TRUE(listener) << listener.error().text;
  auto again = listen_unix(directory->get(), "job");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().text, "");
  auto guest = connect_unix(directory->get(), "job");
  ASSERT_TRUE(guest);
  UniqueFd accepted = accept_unix(listener->get());
  ASSERT_TRUE(accepted);
  EXPECT_EQ(peer_user(accepted.get()), ::geteuid());
  EXPECT_FALSE(accept_unix(listener->get()));
  auto files = std::filesystem::directory_iterator(path_ + "/" + std::string(200, 'd'));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing but the name is left";
}

TEST_F(UnixStream, TellsADeadListenerFromNone) {
  auto directory = open_private_directory(path_);
  ASSERT_TRUE(directory);
  EXPECT_EQ(connect_unix(directory->get(), "job").error(), Unreached::no_such_name);
  listen_unix(directory->get(), "job")->reset();
  EXPECT_EQ(connect_unix(directory->get(), "job").error(), Unreached::nobody_listens);
}

TEST_F(UnixStream, ADirectoryOfOthersIsRefused) {
  auto why = [&](const std::string& path) {
    auto opened = make_private_directory(path);
    return opened ? "" : opened.error().text;
  };
  EXPECT_EQ(why(path_), "");
  for (unsigned mode : {0701u, 0710u, 0777u}) {
    ::chmod(path_.c_str(), mode);
    EXPECT_NE(why(path_).find("chmod 700"), std::string::npos) << mode;
  }
  ::chmod(path_.c_str(), 0700);
  ASSERT_EQ(::mkdir((path_ + "/others").c_str(), 0755), 0);
  EXPECT_EQ(why(path_ + "/others"), path_ + "/others is open to other users (mode 0755): name a directory that is, or can be made, yours alone");
  ::symlink(path_.c_str(), (path_ + "/link").c_str());
  EXPECT_NE(why(path_ + "/link").find("is not a directory"), std::string::npos);
  std::fclose(std::fopen((path_ + "/file").c_str(), "w"));
  EXPECT_NE(why(path_ + "/file").find("is not a directory"), std::string::npos);
  EXPECT_NE(why(path_ + "/no/such").find("cannot make the directory"), std::string::npos);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_NE(why(path_).find("another user (uid 12345)"), std::string::npos);
  ASSERT_EQ(::chown(path_.c_str(), 0, 0), 0);
}

}  // namespace
}  // namespace hf::os
