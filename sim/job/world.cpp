#include "sim/job/world.hpp"

#include <algorithm>

namespace hf::sim::job {
namespace {

// More than any run needs: a few times as many as with a fault at each of its steps.
constexpr std::uint64_t events_base_max = 1'000'000, events_a_step_max = 10'000;
constexpr std::uint64_t events_diverged_max = 100'000;  // a program may wait for ever for what is not sent any more

}  // namespace

World::World(const JobOptions& options, const std::vector<Fault>& faults)
    : options_(options),
      faults_(faults),
      random_(mix(options.seed, faults.empty() ? 1 : 2)),
      pace_(random_, options_.timing),
      checker_(options.ranks, options.optimistic(), !options.timing),
      network_(*this),
      directory_(random_),
      plan_(options.seed, options.ranks),
      processes_(static_cast<std::size_t>(options.ranks)),
      head_(*this) {
  auto diverges = [](const Fault& fault) { return fault.kind == Fault::diverge; };
  if (std::ranges::any_of(faults_, diverges)) checker_.expect_differences();
  if (options.in_pieces()) checker_.lineage().expect_needless_rollbacks();
  for (int node = 0; node < options.agents(); ++node) nodes_.push_back(std::make_unique<Node>(*this, NodeId(node)));
}

World::~World() { nodes_.clear(); }

BoardEntry World::original(Rank rank) const {
  const int per_node = (options_.ranks + options_.nodes - 1) / options_.nodes;
  return {Incarnation{}, RankState::running, NodeId(rank.value / per_node), Incarnation{}};
}

std::int64_t World::latency_in_order(std::int64_t& last, std::int64_t in) {
  last = std::max(last + 1, now().value + in + latency(false));
  return last - now().value;
}

JobOutcome World::run() {
  for (int rank = 0; rank < options_.ranks; ++rank) node(original(Rank(rank)).node).host(Rank(rank), Term{});
  head_.begin();
  for (int rank = 0; rank < options_.ranks; ++rank) node(original(Rank(rank)).node).start_first(Rank(rank));
  const auto steps = static_cast<std::uint64_t>(options_.ranks) * static_cast<std::uint64_t>(options_.steps);
  const std::uint64_t events_max = events_base_max + steps * events_a_step_max;
  auto next = faults_.begin();
  while (!head_.all_finished() && outcome_.ended.empty() && checker_.violations().empty()) {
    for (; next != faults_.end() && next->at <= outcome_.events; ++next) strike(*next);
    if (!events_.step()) {
      stuck();
      break;
    }
    if (outcome_.diverged && outcome_.events > diverged_at_ + events_diverged_max) break;
    if (++outcome_.events > events_max) {
      checker_.violation("it goes on for ever");
      break;
    }
  }
  if (outcome_.ended.empty() && checker_.violations().empty()) checker_.at_end();
  outcome_.results = checker_.results();
  outcome_.violations = checker_.violations();
  return outcome_;
}

// Nothing is planned any more, and not everybody has finished.
void World::stuck() {
  for (const auto& processes : processes_) {
    for (Process* p : processes) {
      checker_.violation(fmt::format("rank {} ({}) does not finish: {}", p->self().value, p->incarnation().value, p->describe()));
    }
  }
  checker_.violation("nothing happens any more, and not all ranks have finished");
}

// ---- processes

void World::add(Process& process) { processes_[static_cast<std::size_t>(process.self().value)].push_back(&process); }
void World::remove(Process& process) { std::erase(processes_[static_cast<std::size_t>(process.self().value)], &process); }

Process* World::find(Rank rank, Incarnation incarnation) {
  for (Process* p : processes_[static_cast<std::size_t>(rank.value)]) {
    if (p->incarnation() == incarnation) return p;
  }
  return nullptr;
}

NodeId World::node_id_of(Rank rank, Incarnation incarnation) {
  Process* p = find(rank, incarnation);
  return p ? p->node().id() : NodeId(-1);
}

void World::ask(Process& by, Node* node, Rank source, Incarnation incarnation, const RankLog::Follower& question, bool follow) {
  at_node(*node, latency(node == &by.node()), [node, source, incarnation, question, follow] {
    node->on_question(source, incarnation, question, follow);
  });
}

void World::answer(Node& by, const RankLog::Follower& question, Rank source, Process::Answer answer) {
  const bool local = node_id_of(question.reader, question.incarnation) == by.id();
  events_.in(latency(local), [this, question, source, answer = std::move(answer)] {
    Process* p = find(question.reader, question.incarnation);
    if (p) to_process(*p, [source, question, answer](Process& reader) { reader.on_records(source, question.question, answer); });
  });
}

void World::fetch(Process& by, Node* node, Rank source, const Frame& message, std::uint64_t question) {
  const bool local = node == &by.node();
  at_node(*node, latency(local), [this, node, local, source, message, question, reader = by.self(), incarnation = by.incarnation()] {
    const RankLog* log = node->log(source, message.incarnation);
    if (!log) return;
    auto stream = log->streams.find(reader);
    if (stream == log->streams.end() || message.position >= stream->second.published) return;
    const Frame record = stream->second.records[message.position];
    events_.in(latency(local), [this, reader, incarnation, source, question, record] {
      Process* p = find(reader, incarnation);
      if (p) to_process(*p, [source, question, record](Process& r) { r.on_fetched(source, question, record); });
    });
  });
}

void World::on_left(Process& process, const Frame& frame) {
  if (frame.dependencies) return count_dependencies(*frame.dependencies);
  if (frame.kind == wire::FrameKind::matched) {
    return checker_.on_acknowledged(process.self(), process.incarnation(), frame.payload.send, frame.payload.value, frame.payload.state);
  }
  ++outcome_.messages;
  checker_.on_left(process.self(), process.incarnation(), frame.payload.send);
}

void World::on_finished(Process& process, std::uint64_t result) {
  checker_.on_finished(process.life(), result);
  outcome_.finished_ns = now().value;
  // Not from inside its own call.
  at_process(process, 0, [](Process& p) { p.node().on_finished(p); });
}

// What a node that was declared lost prints reaches nobody.
void World::on_output(Process& process, const Checker::Output& output) {
  if (!head_.lost(process.node().id())) checker_.on_output(process.self(), process.incarnation(), output);
}

// What a node that was declared lost finds of its ranks, which are elsewhere, nobody hears.
void World::on_orphan(Node& node, Rank rank, const Process* process, std::uint64_t cut, std::size_t heard) {
  if (head_.lost(node.id())) return;
  ++outcome_.rollbacks;
  checker_.on_rolled_back(rank, process ? &process->life() : nullptr, cut, heard);
  if (rollbacks_to_strike_ == 0) return;
  --rollbacks_to_strike_;
  strike_in_rollback(node.id(), rank);
}

std::vector<NodeId> World::listeners(NodeId of) {
  std::vector<NodeId> out;
  for (auto& n : nodes_) {
    if (n->dead() || n->id() == of) continue;
    if (node(of).is_held_by(n->id()) || n->is_held_by(of)) out.push_back(n->id());
  }
  return out;
}

void World::on_diverged(Process& process, const char* what) {
  checker_.violation(fmt::format("rank {} ({}): the replay found {}", process.self().value, process.incarnation().value, what));
}

// Tag and length decide who receives a message: nothing can go on. A payload may, and does not here.
void World::on_sent_otherwise(Process& receiver, Rank from, Context context, const core::vprotocol::TakenSums::Difference& difference) {
  checker_.on_reported(receiver.life(), from, context, difference.first, difference.last, difference.envelope);
  outcome_.reported = true;
  outcome_.ended = "a rank does not send what it sent before";
}

// The head ends the job.
void World::on_disk_failed(Node& node) {
  excused_ = disk_excused_ = true;
  events_.in(latency(false), [this, &node] {
    if (!head_.lost(node.id())) end_by_rule("determinants cannot be kept on disk");
  });
}

void World::end_by_rule(std::string why) {
  if (!excused_) checker_.violation("the job ends, and need not: " + why);
  outcome_.ended = std::move(why);
}

JobOutcome run_job(const JobOptions& options, const std::vector<Fault>& faults) { return World(options, faults).run(); }

}  // namespace hf::sim::job
