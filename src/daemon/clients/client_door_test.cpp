#include "daemon/clients/client_door.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/clients/job_client.hpp"
#include "daemon/clients/job_socket.hpp"
#include "os/clock.hpp"
#include "os/unix_stream.hpp"

namespace hf::daemon {
namespace {

// A door of its own thread, in a directory of its own. Requests: "echo"; "later", answered after `ms`; "large", of `bytes`; "events", so
// many as were told; "said", what the door has said; "gone", the number of clients that are.
class Door : public ::testing::Test {
 protected:
  Door() {
    std::string name = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
    ::setenv("HOLDFAST_RUNTIME_DIR", (path_ + "/holdfast").c_str(), 1);  // the machine may run other jobs
    socket_.emplace(*JobSocket::make([](const std::string&) { return false; }));
    door_.serve("echo", [](ClientId, const Json& request) { return request; });
    door_.serve("later", [this](ClientId client, const Json& request) {
      const Instant when = os::later(os::now(), request["ms"].get<int>() * os::millisecond_ns);
      loop_.at(when, [this, client] { door_.answer(client, {{"late", true}}); });
      return Json();
    });
    door_.serve("large", [](ClientId, const Json& request) {
      return Json{{"text", std::string(request["bytes"].get<std::size_t>(), 'x')}};
    });
    door_.serve("events", [this](ClientId client, const Json& request) {
      int told = 0;
      for (int i = 0; i < request["count"].get<int>(); ++i) told += door_.tell(client, {{"event", i}, {"text", std::string(1000, 'e')}});
      return Json{{"told", told}};
    });
    door_.serve("said", [this](ClientId, const Json&) { return Json{{"said", said_}}; });
    door_.serve("gone", [this](ClientId, const Json&) { return Json{{"gone", gone_}}; });
    door_.serve("renew", [this](ClientId, const Json&) {
      door_.open(std::move(renewed_));
      return Json{{"renewed", true}};
    });
    door_.on_gone([this](ClientId) { ++gone_; });
    door_.open(socket_->take_listener());
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    stopped_.reset(ends[0]);
    stop_.reset(ends[1]);
    loop_.add(stopped_.get(), EPOLLIN, [this](std::uint32_t) { loop_.stop(); });
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Door() override {
    stop_.reset();
    thread_.join();
    door_.close();
    socket_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_ + "/holdfast")) << "nothing is left";
    std::filesystem::remove_all(path_);
  }
  JobClient client() { return JobClient(std::move(*connect_job(socket_->id()))); }
  static std::string error_of(JobClient& client, const Json& request) {
    auto answer = client.ask(request);
    return answer ? "" : answer.error().text;
  }
  // Bytes as they are.
  static std::string answer_to(JobClient& client, std::string_view bytes) {
    EXPECT_GT(::send(client.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    for (int i = 0; i < 2000; ++i) {
      auto line = client.next();
      if (line && *line) return (*line)->dump();
      if (client.ended()) return "closed";
      ::usleep(1000);
    }
    return "nothing";
  }

  std::string path_;
  std::optional<JobSocket> socket_;
  os::EventLoop loop_;
  os::UniqueFd stopped_, stop_;
  std::vector<std::string> said_;
  int gone_ = 0;
  os::UniqueFd renewed_;
  ClientDoor door_{loop_, [this](const std::string& line) { said_.push_back(line); }, 200};
  std::thread thread_;
};

TEST_F(Door, AnswersRequestsInOrder) {
  JobClient one = client(), two = client();
  EXPECT_EQ((*one.ask({{"request", "echo"}, {"n", 1}}))["n"], 1);
  EXPECT_EQ((*two.ask({{"request", "echo"}, {"n", 2}}))["n"], 2);
  EXPECT_EQ(answer_to(one, "{\"request\":\"later\",\"ms\":30}\n{\"request\":\"echo\",\"n\":3}\n"), "{\"late\":true}");
  EXPECT_EQ((*one.ask({{"request", "echo"}, {"n", 4}}))["n"], 3);
}

TEST_F(Door, RefusesWhatIsNoRequest) {
  JobClient one = client();
  EXPECT_EQ(answer_to(one, "nonsense\n"), R"({"error":"the line is not JSON"})");
  EXPECT_EQ(answer_to(one, "[1]\n"), R"({"error":"the line is not a JSON object"})");
  EXPECT_EQ(answer_to(one, "{\"request\":1}\n"), R"({"error":"the line names no request"})");
  EXPECT_EQ(answer_to(one, "{\"request\":\"\xff\"}\n"), R"({"error":"the line is not JSON"})");
  EXPECT_EQ(error_of(one, {{"request", "dance"}}), "this job knows no request \"dance\"");
  EXPECT_EQ((*one.ask({{"request", "echo"}, {"n", 1}}))["n"], 1) << "and goes on";
}

TEST_F(Door, ALineThatIsTooLongIsTheLast) {
  JobClient one = client();
  EXPECT_EQ(answer_to(one, std::string(request_bytes_max, '[') + "\n"), R"({"error":"the line is not JSON"})");
  EXPECT_EQ(answer_to(one, std::string(request_bytes_max + 1, '[')), R"({"error":"a line is longer than 64 KiB"})");
  auto more = one.next();
  EXPECT_TRUE(more && !*more && one.ended());
}

TEST_F(Door, AClientThatDoesNotReadIsCutOff) {
  JobClient lazy = client(), other = client();
  ASSERT_TRUE(lazy.send({{"request", "large"}, {"bytes", 3 << 20}}));
  EXPECT_EQ((*other.ask({{"request", "gone"}}))["gone"], 0);
  ::usleep(500'000);
  EXPECT_EQ((*other.ask({{"request", "gone"}}))["gone"], 1);
  auto answer = lazy.next();
  EXPECT_TRUE(answer && !*answer && lazy.ended()) << "a part of an answer is none";
  EXPECT_EQ((*other.ask({{"request", "large"}, {"bytes", 3 << 20}}))["text"].get<std::string>().size(), 3u << 20);
  EXPECT_EQ(error_of(other, {{"request", "large"}, {"bytes", 5 << 20}}), "the answer is too long");
}

TEST_F(Door, EventsThatAreNotReadAreDroppedAndNobodyIsCutOffForThem) {
  JobClient lazy = client(), other = client();
  ASSERT_TRUE(lazy.send({{"request", "events"}, {"count", 100'000}}));
  EXPECT_EQ((*other.ask({{"request", "gone"}}))["gone"], 0);
  int events = 0, told = -1;
  for (int i = 0; i < 2000 && told < 0; ++i) {
    auto line = lazy.next();
    ASSERT_TRUE(line) << line.error().text;
    if (*line && (*line)->contains("event")) EXPECT_EQ((**line)["event"], events++);
    else if (*line) told = (**line)["told"];
    else ::usleep(1000);
  }
  EXPECT_EQ(told, events);
  EXPECT_LT(told, 5000);
  EXPECT_GT(told, 10);
}

TEST_F(Door, SoManyClientsAndNoMore) {
  std::vector<JobClient> crowd;
  for (std::size_t i = 0; i < ClientDoor::clients_max; ++i) {
    crowd.push_back(client());
    ASSERT_TRUE(crowd.back().ask({{"request", "echo"}}));
  }
  JobClient one_more = client();
  EXPECT_EQ(error_of(one_more, {{"request", "echo"}}), "the job has 64 clients already");
  crowd.pop_back();
  while ((*crowd.front().ask({{"request", "gone"}}))["gone"] == 0) ::usleep(1000);
  JobClient next = client();
  EXPECT_EQ((*next.ask({{"request", "said"}}))["said"], Json::array({"a client was refused: the job has 64 already"}));
}

TEST_F(Door, AnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  for (const std::string& place : {path_, path_ + "/holdfast", socket_->path()}) ::chmod(place.c_str(), 0777);
  const pid_t child = ::fork();
  if (child == 0) {
    os::UniqueFd directory(::open((path_ + "/holdfast").c_str(), O_RDONLY));
    if (::setuid(65534) != 0) ::_exit(1);
    auto connection = os::connect_unix(directory.get(), socket_->id());
    if (!connection) ::_exit(2);
    JobClient stranger(std::move(*connection));
    ::_exit(stranger.ask({{"request", "echo"}}) || !stranger.ended() ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (const std::string& place : {path_, path_ + "/holdfast"}) ::chmod(place.c_str(), 0700);
  JobClient one = client();
  EXPECT_EQ((*one.ask({{"request", "said"}}))["said"], Json::array({"a process of another user was refused at the job's socket"}));
}

TEST_F(Door, ThoseWhoseHeadsAreDeadAreRemoved) {
  std::string dead;
  {
    auto socket = *JobSocket::make([](const std::string&) { return false; });
    dead = socket.path();
    socket.take_listener();
    socket.abandon();
  }
  std::error_code code;
  ASSERT_TRUE(std::filesystem::exists(dead));
  auto jobs = find_running_jobs();
  ASSERT_TRUE(jobs) << jobs.error().text;
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->front().id, socket_->id());
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_EQ(connect_job(std::filesystem::path(dead).filename()).error().text, "");
}

TEST_F(Door, ANameThatHasGoneIsMadeAgain) {
  JobClient before = client();
  EXPECT_FALSE(socket_->renew());
  std::filesystem::remove_all(path_ + "/holdfast");
  EXPECT_EQ(connect_job(socket_->id()).error().text, "");
  auto listener = socket_->renew();
  ASSERT_TRUE(listener);
  renewed_ = std::move(*listener);
  EXPECT_EQ((*before.ask({{"request", "renew"}}))["renewed"], true);
  EXPECT_EQ((*client().ask({{"request", "echo"}, {"n", 1}}))["n"], 1);
  EXPECT_EQ((*before.ask({{"request", "echo"}, {"n", 2}}))["n"], 2);
}

TEST(JobSocket, OfADeadHeadIsRemovedByItsAgent) {
  std::string name = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
  const std::string path = ::mkdtemp(name.data());
  ::setenv("HOLDFAST_RUNTIME_DIR", (path + "/holdfast").c_str(), 1);
  auto socket = *JobSocket::make([](const std::string&) { return false; });
  {
    os::UniqueFd listener = socket.take_listener();
    remove_socket_of_dead_head(socket.path());
    EXPECT_TRUE(std::filesystem::exists(socket.path())) << "it listens";
  }
  remove_socket_of_dead_head(socket.path());
  EXPECT_FALSE(std::filesystem::exists(path + "/holdfast"));
  std::filesystem::remove_all(path);
}

TEST(JobId, CanBeSaid) {
  EXPECT_TRUE(is_job_id("bakofu"));
  for (const char* text : {"", "bakof", "bakofuu", "abakof", "../../", "bako.u", "BAKOFU"}) EXPECT_FALSE(is_job_id(text)) << text;
}

TEST(Base64, ThereAndBack) {
  const std::string bytes("\0\xff text\n", 8);
  EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  EXPECT_EQ(from_base64(""), "");
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("aGVsbG8=="));
  EXPECT_FALSE(from_base64("aGVs bG8="));
}

}  // namespace
}  // namespace hf::daemon
