// Stories of recovery as text: each file in testdata/ is one, see testdata/README.md for the commands.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/test_transcript.hpp"
#include "core/vprotocol/test_rank.hpp"

namespace hf::core::vprotocol {
namespace {

using Verdict = match::Arrivals::Verdict;
using wire::FrameKind;

constexpr int ranks = 5;

class Story {
 public:
  Story() : rank_(std::make_unique<TestRank>(store_, ranks, true)) {}

  std::string command(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    out_.str("");
    if (!rank_ && words[0] != "restart") return "dead\n";
    run(words, line);
    if (rank_) epilogue();
    return out_.str();
  }

 private:
  void run(const std::vector<std::string>& w, const std::string& line) {
    if (w[0] == "level") return level(w[1]);
    if (w[0] == "post") return post(w);
    if (w[0] == "arrive") return arrive(w);
    if (w[0] == "probe") return probe(w);
    if (w[0] == "look") return look();
    if (w[0] == "iprobe") return iprobe(w);
    if (w[0] == "test" || w[0] == "waitany") return begin_test(w[0]);
    if (w[0] == "found") return end_test(w);
    if (w[0] == "wait") return wait(w);
    if (w[0] == "cancel") return cancel(w[1]);
    if (w[0] == "past") return past(w[2]);
    if (w[0] == "lose") return lose();
    if (w[0] == "time") return time(w[1]);
    if (w[0] == "send") return send(w);
    if (w[0] == "stored") return stored(std::stoull(w[1]));
    if (w[0] == "crash") return crash();
    if (w[0] == "restart") return restart();
    FAIL() << "unknown command: " << line;
  }

  static std::string name_of(const TestRank::Message& m) {
    return std::to_string(m.source.value) + "." + std::to_string(m.number);
  }
  std::string name_of(const TestRank::Request& r) const {
    for (const auto& [name, request] : requests_) {
      if (request == &r) return name;
    }
    return "?";
  }
  // The word after `key`; "any" or missing: nothing.
  static std::optional<int> value_of(const std::vector<std::string>& w, const std::string& key) {
    for (std::size_t i = 1; i + 1 < w.size(); ++i) {
      if (w[i] == key && w[i + 1] != "any") return std::stoi(w[i + 1]);
    }
    return std::nullopt;
  }
  static Rank source_of(const std::vector<std::string>& w) {
    auto from = value_of(w, "from");
    return from ? Rank{*from} : any_rank;
  }
  static MessageTag tag_of(const std::vector<std::string>& w) {
    auto tag = value_of(w, "tag");
    return tag ? MessageTag{*tag} : any_tag;
  }

  void level(const std::string& level) {
    stores_at_once_ = level == "process";
    rank_ = std::make_unique<TestRank>(store_, ranks, stores_at_once_);
  }
  void post(const std::vector<std::string>& w) {
    TestRank::Request& r = rank_->post(source_of(w), tag_of(w));
    requests_[w[1]] = &r;
    out_ << w[1] << " is receive " << r.number.value;
    if (r.mode == match::Mode::inert) out_ << ", never matches: its cancel succeeded";
    if (r.mode == match::Mode::held) out_ << ", held: no determinant";
    if (r.forced) out_ << ", forced to " << r.source.value;
    if (r.matched) out_ << ", takes " << name_of(*r.message);
    out_ << "\n";
  }
  void arrive(const std::vector<std::string>& w) {
    Rank from = source_of(w);
    auto number = value_of(w, "number");
    std::uint64_t n = number ? static_cast<std::uint64_t>(*number) : rank_->arrived(from);
    auto a = rank_->arrive(from, tag_of(w), n, w.back() == "synchronous");
    out_ << from.value << "." << n << ": ";
    if (a.verdict == Verdict::duplicate) out_ << "dropped, has arrived already";
    else if (a.verdict == Verdict::early) out_ << "kept, others must come first";
    else if (a.receive) out_ << "taken by " << name_of(*a.receive);
    else out_ << "unexpected";
    out_ << "\n";
  }
  void probe(const std::vector<std::string>& w) {
    probe_ = rank_->begin_probe(source_of(w), tag_of(w));
    look();
  }
  void look() {
    TestRank::Message* found = rank_->look(*probe_);
    if (found) out_ << "found " << name_of(*found) << "\n";
    else out_ << "waits\n";
  }
  void iprobe(const std::vector<std::string>& w) {
    auto plan = rank_->begin_test();
    if (plan.kind == Replay::Test::nothing) {
      out_ << "nothing, as recorded\n";
      return;
    }
    bool exactly = plan.kind == Replay::Test::exactly;
    TestRank::Message* found = rank_->peek(exactly ? Rank{plan.which[0]} : source_of(w), tag_of(w));
    if (exactly) out_ << "waits for one from " << plan.which[0] << ": ";
    out_ << (found ? "found " + name_of(*found) : "nothing") << "\n";
    std::int32_t source = found ? found->source.value : 0;
    if (!exactly) rank_->end_test(std::span(&source, found ? 1 : 0));
    rank_->after();
  }
  void begin_test(const std::string& which) {
    auto plan = rank_->begin_test();
    out_ << which << " " << ++test_ << ": ";
    if (plan.kind == Replay::Test::free) out_ << "looks\n";
    if (plan.kind == Replay::Test::nothing) out_ << "nothing, as recorded\n";
    if (plan.kind == Replay::Test::diverged) out_ << "the run before did not make it\n";
    if (plan.kind == Replay::Test::exactly) {
      out_ << "waits for";
      for (std::int32_t index : plan.which) out_ << " " << index;
      out_ << "\n";
      rank_->after();
    }
  }
  void end_test(const std::vector<std::string>& w) {
    std::vector<std::int32_t> indices;
    for (std::size_t i = 1; i < w.size() && w[1] != "nothing"; ++i) indices.push_back(std::stoi(w[i]));
    rank_->end_test(indices);
  }
  void wait(const std::vector<std::string>& w) {
    for (std::size_t i = 1; i < w.size(); ++i) {
      TestRank::Request& r = *requests_.at(w[i]);
      if (r.matched) out_ << w[i] << ": " << name_of(*r.message) << "\n";
      else out_ << w[i] << ": waits\n";
    }
  }
  void cancel(const std::string& name) {
    const auto outcome = rank_->try_cancel(*requests_.at(name));
    out_ << name << ": " << (!outcome ? "waits for what its source had sent" : *outcome ? "cancelled" : "not cancelled") << "\n";
  }
  void past(const std::string& source) {
    rank_->on_past(Rank{std::stoi(source)});
    out_ << "all that " << source << " had sent has arrived\n";
  }
  void lose() {
    store_.sent.clear();
    store_.log_lost = true;
    crash();
  }
  void time(const std::string& now) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", rank_->time(std::stod(now)));
    out_ << text << "\n";
  }
  void send(const std::vector<std::string>& w) {
    static const std::map<std::string, FrameKind> kinds = {{"eager", FrameKind::eager},
                                                           {"rendezvous", FrameKind::rendezvous},
                                                           {"clear_to_send", FrameKind::clear_to_send},
                                                           {"data", FrameKind::data},
                                                           {"credit", FrameKind::credit}};
    std::string to = w.back();
    std::string name = w[1] + " " + std::to_string(sends_[to]++) + " to " + to;
    offer(kinds.at(w[1]), name);
  }
  void offer(FrameKind kind, const std::string& name) {
    switch (rank_->send(kind, name)) {
      case TestRank::Sent::leaves: out_ << name << ": leaves\n"; return;
      case TestRank::Sent::waits: out_ << name << ": waits at the gate\n"; return;
      case TestRank::Sent::in_log: out_ << name << ": in the log of the run before, not sent\n"; return;
    }
  }
  void stored(std::uint64_t n) {
    auto leaving = rank_->stored(n);
    out_ << rank_->stored_count() << " stable\n";
    for (const auto& frame : leaving) out_ << frame.name << ": leaves\n";
  }
  void crash() {
    out_ << "lost with it: " << rank_->unstable() << " determinants; stable: " << store_.events.size();
    if (store_.last_failed.value) out_ << ", failed tests up to " << store_.last_failed.value;
    out_ << "\n";
    rank_.reset();
    requests_.clear();
    sends_.clear();
    probe_.reset();
    test_ = 0;
  }
  void restart() {
    rank_ = std::make_unique<TestRank>(store_, ranks, stores_at_once_);
    if (!rank_->loaded()) out_ << "the event log is damaged\n";
    else out_ << (rank_->replaying() ? "replays\n" : "nothing to replay\n");
  }
  void epilogue() {
    std::vector<TestRank::Request*> released;
    if (rank_->poll_caught_up(released)) out_ << "caught up\n";
    for (auto* r : released) out_ << "released: " << name_of(*r) << " takes " << name_of(*r->message) << "\n";
    for (auto* m : rank_->poll_acknowledged()) offer(FrameKind::matched, "acknowledgement of " + name_of(*m));
  }

  StableStore store_;
  bool stores_at_once_ = true;
  std::unique_ptr<TestRank> rank_;
  std::map<std::string, TestRank::Request*> requests_;
  std::map<std::string, int> sends_;
  std::optional<TestRank::Probe> probe_;
  int test_ = 0;
  std::ostringstream out_;
};

class Transcript : public testing::TestWithParam<std::string> {};

TEST_P(Transcript, SaysWhatIsWritten) {
  Story story;
  std::string path = HOLDFAST_TEST_DATA "/" + GetParam() + ".txt";
  for (const auto& failure : run_transcript(path, [&](const std::string& line) { return story.command(line); })) {
    ADD_FAILURE() << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Stories, Transcript, testing::ValuesIn(transcripts_in(HOLDFAST_TEST_DATA)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hf::core::vprotocol
