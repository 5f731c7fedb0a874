// The client against a scripted other end: what it says, letter by letter, and what it makes of answers.
#include "daemon/launcher/pmi.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace hf::daemon {
namespace {

struct Turn {
  std::string expected, answer;
};

std::string framed(const std::string& text) {
  return fmt::format("{:>6}{}", text.size(), text);
}

const Turn begin{"cmd=init pmi_version=2 pmi_subversion=0\n", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"};
const Turn fullinit{framed("cmd=fullinit;pmijobid=7.0;pmirank=1;threaded=FALSE;"),
                    framed("cmd=fullinit-response;rc=0;pmi-version=2;rank=1;size=2;")};

// Runs `client` while the other end takes the turns; what was said beside the script.
template <class Client>
std::string run(std::vector<Turn> turns, Client client) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "no socket";
  ::setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
  ::setenv("PMI_RANK", "1", 1);
  ::setenv("PMI_SIZE", "2", 1);
  ::setenv("PMI_JOBID", "7.0", 1);
  std::string wrong;
  std::thread server([&] {
    for (const Turn& turn : turns) {
      std::string said(turn.expected.size(), '\0');
      ssize_t n = ::recv(ends[1], said.data(), said.size(), MSG_WAITALL);
      said.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      if (said != turn.expected) wrong += said + "\n";
      if (::send(ends[1], turn.answer.data(), turn.answer.size(), MSG_NOSIGNAL) < 0) wrong += "gone\n";
    }
    ::close(ends[1]);
  });
  client(Pmi::join());
  server.join();
  return wrong;
}

TEST(Pmi, PutFenceGet) {
  const Turn put{framed("cmd=kvs-put;key=a;value=17;"), framed("cmd=kvs-put-response;rc=0;")};
  const Turn fence{framed("cmd=kvs-fence;"), framed("cmd=kvs-fence-response;rc=0;")};
  const Turn get{framed("cmd=kvs-get;key=b;"), framed("cmd=kvs-get-response;rc=0;found=TRUE;value=x y;")};
  const Turn none{framed("cmd=kvs-get;key=c;"), framed("cmd=kvs-get-response;rc=0;found=FALSE;")};
  EXPECT_EQ(run({begin, fullinit, put, fence, get, none}, [](Result<Pmi> pmi) {
    ASSERT_TRUE(pmi) << pmi.error().text;
    EXPECT_EQ(pmi->rank(), 1);
    EXPECT_EQ(pmi->size(), 2);
    EXPECT_TRUE(pmi->put("a", "17"));
    EXPECT_TRUE(pmi->fence());
    EXPECT_EQ(*pmi->get("b"), "x y");
    EXPECT_EQ(*pmi->get("c"), "");
  }), "");
}

TEST(Pmi, OtherVersion) {
  run({{begin.expected, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"}}, [](Result<Pmi> pmi) {
    ASSERT_FALSE(pmi);
    EXPECT_NE(pmi.error().text.find("srun --mpi=pmi2"), std::string::npos);
  });
}

TEST(Pmi, RefusalsAndEnds) {
  const std::string get = framed("cmd=kvs-get;key=b;");
  for (const char* answer : {"", "     x", "999999", "    12cmd=x;rc=0;x"}) {
    run({begin, fullinit, {get, answer}}, [](Result<Pmi> pmi) {
      ASSERT_TRUE(pmi);
      EXPECT_FALSE(pmi->get("b"));
    });
  }
  run({begin, fullinit, {get, framed("cmd=kvs-get-response;rc=14;errmsg=no;")}}, [](Result<Pmi> pmi) {
    ASSERT_TRUE(pmi);
    EXPECT_EQ(pmi->get("b").error().text, "Slurm's PMI refuses kvs-get: no");
  });
}

}  // namespace
}  // namespace hf::daemon
