// Stories of loss and healing as text: each file in testdata/ is one, see testdata/README.md for the commands.
#include <gtest/gtest.h>

#include <sstream>

#include "base/test_transcript.hpp"
#include "core/membership/test_agents.hpp"

namespace hf::core::membership {
namespace {

constexpr std::int64_t millisecond = 1'000'000;

class Story {
 public:
  std::string command(const std::string& line) {
    std::istringstream in(line);
    words_.clear();
    for (std::string word; in >> word;) words_.push_back(word);
    out_.str("");
    run(line);
    return out_.str();
  }

 private:
  void run(const std::string& line) {
    const std::string& w = words_[0];
    if (w == "agents") return begin();
    if (w == "run") return pass(std::stoll(words_[1]));
    if (w == "lose") return each([&](NodeId n) { agents_->kill(n); });
    if (w == "stop") return each([&](NodeId n) { agents_->of(n).stopped = true; });
    if (w == "continue") return each([&](NodeId n) { agents_->of(n).stopped = false; });
    if (w == "close") return close();
    if (w == "part") return agents_->part(nodes());
    if (w == "heal") return agents_->part({});
    if (w == "tree") return tree();
    if (w == "views") return views();
    if (w == "threshold") return threshold();
    if (w == "post") return post(line);
    FAIL() << "unknown command: " << line;
  }
  static NodeId node(const std::string& word) { return word == "head" ? head_node : NodeId(std::stoi(word)); }
  std::vector<NodeId> nodes() {
    std::vector<NodeId> out;
    for (std::size_t i = 1; i < words_.size(); ++i) out.push_back(node(words_[i]));
    return out;
  }
  void each(const std::function<void(NodeId)>& action) {
    for (NodeId n : nodes()) action(n);
  }

  void begin() {
    agents_ = std::make_unique<TestAgents>(std::stoi(words_[1]), std::stoi(words_[3]));
    agents_->run(1);
    for (int i = -1; i < agents_->agents(); ++i) agents_->of(NodeId(i)).membership.on_started(agents_->now());
    tree();
  }
  void pass(std::int64_t ms) {
    std::int64_t begin = agents_->now().value;
    for (std::int64_t passed = 0; passed < ms; ++passed) {
      agents_->run(millisecond);
      for (const auto& said : agents_->poll_said()) {
        out_ << "+" << (agents_->now().value - begin) / millisecond << " ms: " << TestAgents::name(said.at) << " " << said.text << "\n";
      }
    }
    if (int refused = agents_->poll_refused()) out_ << refused << " frames refused\n";
  }
  // The process of an agent is gone: its neighbours see their connections close.
  void close() {
    for (NodeId gone : nodes()) {
      agents_->kill(gone);
      const auto& shape = agents_->of(head_node).membership.shape();
      std::vector<NodeId> children = shape.children(gone);
      if (gone != head_node) agents_->close(shape.parent(gone), gone);
      for (NodeId child : children) agents_->close(child, gone);
    }
  }
  void tree() {
    const auto& shape = agents_->of(head_node).membership.shape();
    std::vector<NodeId> level{head_node};
    while (!level.empty()) {
      std::vector<NodeId> below;
      for (NodeId n : level) {
        auto children = shape.children(n);
        if (!children.empty()) out_ << TestAgents::name(n) << ":" << TestAgents::list(children) << "\n";
        below.insert(below.end(), children.begin(), children.end());
      }
      level = std::move(below);
    }
  }
  void views() {
    std::map<std::uint32_t, std::vector<NodeId>> by_version;
    std::vector<NodeId> ended;
    for (int i = -1; i < agents_->agents(); ++i) {
      auto& a = agents_->of(NodeId(i));
      if (a.ended) ended.emplace_back(i);
      else if (!a.dead) by_version[a.membership.version().value].emplace_back(i);
    }
    for (const auto& [version, at] : by_version) out_ << "version " << version << ":" << TestAgents::list(at) << "\n";
    if (!ended.empty()) out_ << "ended:" << TestAgents::list(ended) << "\n";
  }
  void threshold() {
    auto ns = agents_->of(node(words_[1])).membership.threshold_ns(node(words_[2]));
    if (ns) out_ << *ns / millisecond << " ms\n";
    else out_ << "does not watch it\n";
  }
  void post(const std::string& line) {
    std::string text = line.substr(line.find('"') + 1);
    text.pop_back();
    NodeId from = words_[1] == "up" ? node(words_[2]) : head_node;
    auto& core = agents_->of(from).tree;
    bool taken = words_[1] == "up"     ? core.post_up(agents_->now(), bytes_of(text))
                 : words_[1] == "down" ? core.post_down(agents_->now(), node(words_[2]), bytes_of(text))
                                       : core.post_all(agents_->now(), bytes_of(text));
    if (!taken) out_ << "no room\n";
    agents_->drain(from);
  }

  std::unique_ptr<TestAgents> agents_;
  std::vector<std::string> words_;
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
}  // namespace hf::core::membership
