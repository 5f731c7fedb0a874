#include "daemon/launcher/remote_words.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace hf::daemon {
namespace {

int exited(int code) {
  return W_EXITCODE(code, 0);
}

std::string ssh(int code, const std::string& words) {
  return why_ssh_ended("a", exited(code), {words}, "/opt/holdfast");
}

TEST(RemoteWords, SshPathIsQuoted) {
  EXPECT_EQ(ssh_arguments("u@a", "/o'p t/holdfast").back(), "exec '/o'\\''p t/holdfast' agent");
  EXPECT_EQ(*(ssh_arguments("u@a", "x").end() - 2), "u@a");
}

TEST(RemoteWords, NoPasswordIsAskedFor) {
  auto words = ssh_arguments("a", "x");
  EXPECT_NE(std::ranges::find(words, "BatchMode=yes"), words.end());
}

TEST(RemoteWords, WhatSshFails) {
  EXPECT_EQ(ssh(127, "bash: line 1: /opt/holdfast: No such file or directory"),
            "host a: /opt/holdfast cannot be run there: install holdfast at the same place, or say where it is with --remote-path");
  EXPECT_EQ(ssh(255, "root@a: Permission denied (publickey,password)."),
            "host a: ssh asks for a password: give this account a key there (ssh -o BatchMode=yes a true must succeed)");
  EXPECT_EQ(ssh(255, "Host key verification failed."),
            "host a: ssh does not accept its host key: log in once by hand, ssh a, and check the key");
  EXPECT_EQ(ssh(255, "ssh: connect to host a port 22: Connection refused"),
            "host a cannot be reached: ssh: connect to host a port 22: Connection refused");
  EXPECT_EQ(ssh(1, "x"), "host a: the agent ended before it had joined (exit code 1)");
  EXPECT_EQ(why_ssh_ended("a", 9, {}, "x"), "host a: the agent ended before it had joined (killed by SIGKILL)");
}

TEST(RemoteWords, WhatSrunFails) {
  EXPECT_EQ(why_srun_ended("n1", exited(2), {"slurmstepd: error: execve(): /opt/holdfast: No such file or directory"}, "/opt/holdfast"),
            "host n1: /opt/holdfast cannot be run there: install holdfast at the same place, or say where it is with --remote-path");
  EXPECT_EQ(why_srun_ended("n9", exited(1), {"srun: error: Requested node configuration is not available"}, "x"),
            "host n9: srun could not start an agent there: srun: error: Requested node configuration is not available");
}

}  // namespace
}  // namespace hf::daemon
