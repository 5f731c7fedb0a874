#include "daemon/watch/metrics_server.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/test_seed.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

TEST(MetricsAddress, OfAPortAloneIsTheLoopback) {
  for (const char* text : {":9100", "9100"}) {
    auto address = parse_metrics_address(text);
    ASSERT_TRUE(address);
    EXPECT_EQ(address->host, "127.0.0.1");
    EXPECT_EQ(address->port, "9100");
  }
  EXPECT_EQ(parse_metrics_address("0.0.0.0:1")->host, "0.0.0.0");
  EXPECT_EQ(parse_metrics_address("[::1]:0")->host, "::1");
  EXPECT_EQ(parse_metrics_address("localhost:0")->host, "localhost");
  for (const char* text : {"", ":", "host", "::1", "::1:9100", "[::1]", "[]:1", ":65536", ":-1", ":1x", ":999999", "[::1:1"}) {
    EXPECT_FALSE(parse_metrics_address(text)) << text;
  }
}

// The server runs in a thread of its own, whose loop a byte in a pipe ends.
class MetricsServerTest : public testing::Test {
 protected:
  std::string body_ = "holdfast_test 1\n";
  std::atomic<int> answers_ = 0;
  os::EventLoop loop_;
  MetricsServer server_{loop_, [this] { return ++answers_, body_; }};
  std::uint16_t port_ = 0;
  int pipe_[2] = {};
  std::thread thread_;

  void SetUp() override {
    auto taken = server_.open({"127.0.0.1", "0"});
    ASSERT_TRUE(taken) << taken.error().text;
    ASSERT_TRUE(taken->starts_with("127.0.0.1:"));
    port_ = static_cast<std::uint16_t>(std::stoi(taken->substr(10)));
    ASSERT_NE(port_, 0);
    ASSERT_EQ(::pipe(pipe_), 0);
    loop_.add(pipe_[0], EPOLLIN, [this](std::uint32_t) { loop_.stop(); });
    thread_ = std::thread([this] { loop_.run(); });
  }
  void TearDown() override {
    EXPECT_EQ(::write(pipe_[1], "x", 1), 1);
    thread_.join();
    for (int fd : pipe_) ::close(fd);
  }
  os::UniqueFd connect() const {
    auto fd = os::connect_tcp(os::loopback_address(), port_);
    EXPECT_TRUE(fd);
    timeval limit{20, 0};
    ::setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return std::move(*fd);
  }
  std::string ask(const std::string& request) const {
    os::UniqueFd fd = connect();
    EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    std::string all;
    char bytes[65536];
    ssize_t n;
    while ((n = ::read(fd.get(), bytes, sizeof bytes)) > 0) all.append(bytes, static_cast<std::size_t>(n));
    EXPECT_TRUE(n == 0 || errno == ECONNRESET) << "not ended: " << request;
    return all;
  }
};

TEST_F(MetricsServerTest, AnswersGet) {
  const std::string answer = ask("GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nholdfast_test 1\n")) << answer;
}

TEST_F(MetricsServerTest, AnswersOfManyRanksComeWhole) {
  body_ = std::string(6 << 20, 'x') + "\n";
  EXPECT_TRUE(ask("GET /metrics HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n" + body_));
}

TEST_F(MetricsServerTest, RefusesEverythingElse) {
  EXPECT_NE(ask("GET / HTTP/1.0\r\n\r\n").find(" 404 "), std::string::npos);
  EXPECT_NE(ask("POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc").find(" 405 "), std::string::npos);
  EXPECT_NE(ask("DELETE /metrics HTTP/1.0\r\n\r\n").find(" 405 "), std::string::npos);
  EXPECT_EQ(answers_, 0);
}

TEST_F(MetricsServerTest, ATakenPortIsAnError) {
  os::EventLoop loop;
  MetricsServer second(loop, [] { return std::string(); });
  auto taken = second.open({"127.0.0.1", fmt::to_string(port_)});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().text, "Address already in use");
}

// Whatever strangers send, and how many they are: others are answered.
TEST_F(MetricsServerTest, StrangersHarmNothing) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<os::UniqueFd> strangers;
  for (int i = 0; i < 200; ++i) {
    os::UniqueFd fd = connect();
    std::string bytes = random() % 2 ? "GET /metrics HTTP/1.1\r\n" : "";
    for (std::uint64_t n = random() % (random() % 4 ? 100 : 100'000); n > 0; --n) bytes += static_cast<char>(random());
    static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (strangers.size() < 20 && random() % 8 == 0) strangers.push_back(std::move(fd));
  }
  for (int i = 0; i < 5; ++i) strangers.push_back(connect());  // and say nothing
  EXPECT_NE(ask("GET /metrics HTTP/1.0\r\n\r\n").find(" 200 "), std::string::npos);
}

// More than it takes at once: the rest waits, nobody spins, and the silent ones are cut off after a while.
TEST_F(MetricsServerTest, ACrowdIsServedInTheEnd) {
  std::vector<os::UniqueFd> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect());
  ::usleep(50'000);
  timespec before{}, after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  ::usleep(1'000'000);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, 0.2) << "s of processor in a second of silence";
  EXPECT_NE(ask("GET /metrics HTTP/1.0\r\n\r\n").find(" 200 "), std::string::npos);
}

}  // namespace
}  // namespace hf::daemon
