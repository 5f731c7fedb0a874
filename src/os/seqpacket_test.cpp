#include "os/seqpacket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace hf::os {
namespace {

struct Ends {
  Ends() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    near.reset(ends[0]);
    far.reset(ends[1]);
  }
  UniqueFd near, far;
};

Bytes bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Seqpacket, CarriesBytesAndDescriptors) {
  Ends ends;
  UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {file.get()};
  ASSERT_TRUE(send_datagram(ends.near.get(), bytes("hello"), fds));
  auto got = receive_datagram(ends.far.get());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes.size(), 5u);
  ASSERT_EQ(got->fds.size(), 1u);
  EXPECT_NE(got->fds[0].get(), file.get());
}

TEST(Seqpacket, AnOrderlyEndIsAnEmptyDatagram) {
  Ends ends;
  ends.far.reset();
  auto got = receive_datagram(ends.near.get());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->bytes.empty());
}

// Leaves on the stack what reads as the head of a control message with one descriptor, wherever it is looked at.
[[gnu::noinline]] void litter_stack() {
  cmsghdr head{CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  cmsghdr litter[512];
  for (auto& place : litter) std::memcpy(&place, &head, sizeof(head));
  asm volatile("" : : "r"(litter) : "memory");
}

// A process that is killed with something unread resets the connection: then no control message has been written, and what
// stands on the stack must not be taken for descriptors.
TEST(Seqpacket, AnEndWithSomethingUnreadBringsNoDescriptors) {
  Ends ends;
  ASSERT_TRUE(send_datagram(ends.near.get(), bytes("never read")));
  ends.far.reset();
  litter_stack();
  auto got = receive_datagram(ends.near.get());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->bytes.empty());
  EXPECT_TRUE(got->fds.empty());
}

}  // namespace
}  // namespace hf::os
