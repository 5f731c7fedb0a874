#include "sim/job/event_files.hpp"

#include <algorithm>
#include <utility>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::event_logger::FileEnd;
using core::event_logger::FileName;
using core::event_logger::FileRecord;
using core::event_logger::FileWriter;

namespace {

constexpr std::uint64_t job_key = 0x686f6c6466617374;

FileName name_of(NodeId agent) { return {job_key, static_cast<std::uint32_t>(agent.value)}; }

}  // namespace

EventFiles::EventFiles(World& world, Node& node)
    : world_(world),
      node_(node),
      feed_(*this, world.options().in_flight_bytes_max(), world.options().append_bytes_max()),
      writer_(name_of(node.id())) {}

// ---- the agent's loop

EventFiles::Extent EventFiles::written(Rank rank) { return node_.written(rank); }

bool EventFiles::read_events(Rank rank, std::uint64_t position, MutableBytes out) {
  std::ranges::copy(node_.events(rank, position, position + out.size()), out.begin());
  return true;
}

void EventFiles::on_damaged(Rank) { world_.checker().violation("a log cannot be read"); }

void EventFiles::put(const FileRecord& record, std::vector<std::byte> bytes) {
  requests_.push_back({record, std::move(bytes)});
  work();
}

void EventFiles::fetch(std::vector<Hosting> wanted, OnFound on_found) {
  asked_.push_back({std::move(wanted), std::move(on_found), {}, {}, false});
  work();
}

void EventFiles::stand_still(std::int64_t for_ns) { still_until_ = Instant(world_.now().value + for_ns); }

void EventFiles::post(std::function<void()> action) { world_.at_node(node_, world_.random().between(100, 2000), std::move(action)); }

// ---- the thread

template <class Action>
void EventFiles::later(std::int64_t low_ns, std::int64_t high_ns, Action action) {
  const std::int64_t ns = world_.random().between(low_ns, high_ns);
  world_.at_node(node_, world_.random().one_in(32) ? 20 * ns : ns, std::move(action));
}

void EventFiles::work() {
  if (busy_ || (requests_.empty() && asked_.empty())) return;
  busy_ = true;
  later(100, 2000, [this] {
    for (const Request& request : requests_) {
      FileRecord record = request.record;
      record.bytes = request.bytes;
      if (!failed_) writer_.on_record(record);
    }
    writing_ = std::exchange(requests_, {});
    next_step();
  });
}

void EventFiles::next_step() {
  const FileWriter::Step step = failed_ ? FileWriter::Step::none : writer_.next();
  switch (step) {
    case FileWriter::Step::write: return later(1'000, 20'000, [this] { do_step(FileWriter::Step::write); });
    case FileWriter::Step::sync: {
      const std::int64_t still = std::max<std::int64_t>(0, still_until_.value - world_.now().value);
      return later(still + 20'000, still + 200'000, [this] { do_step(FileWriter::Step::sync); });
    }
    case FileWriter::Step::look: return later(5'000, 40'000, [this] { do_step(FileWriter::Step::look); });
    case FileWriter::Step::none: break;
  }
  if (asked_.empty()) return finish();
  if (HF_MUTATED(READ_BEFORE_FENCE)) return later(5'000, 40'000, [this] { look_for_hosts(); });
  later(5'000, 40'000, [this] { take_over(); });
}

void EventFiles::do_step(FileWriter::Step step) {
  Directory& directory = world_.directory();
  const bool fails = fails_ && step != FileWriter::Step::look && world_.random().one_in(2);
  if (fails) {  // what of the batch is on disk is not known
    failed_ = true;
    feed_.stop();
    world_.on_disk_failed(node_);
  } else if (step == FileWriter::Step::write) {
    directory.write(node_.id(), writer_.place(), writer_.batch());
    writer_.on_written();
  } else if (step == FileWriter::Step::sync) {
    sync();
    writer_.on_synced();
  } else {
    writer_.on_looked(directory.over(writer_.hostings()));
  }
  next_step();
}

// For the checker: what is on disk before the hosting is over is found by whoever takes the rank over.
void EventFiles::sync() {
  Directory& directory = world_.directory();
  directory.sync(node_.id());
  for (const Request& request : std::exchange(writing_, {})) {
    const FileRecord& record = request.record;
    const Hosting hosting{record.rank, record.term};
    Synced& synced = synced_[record.rank];
    if (record.term < synced.term || !directory.over(std::span(&hosting, 1)).empty()) continue;
    const bool is_cut = record.kind == FileRecord::Kind::cut;
    if (record.term > synced.term) synced = {record.term, is_cut ? std::min(synced.end, record.position) : 0};
    if (!request.bytes.empty()) synced.end = record.position + request.bytes.size();
    world_.checker().on_stored(record.rank, stored_on_disk, record.term, synced.end, request.bytes, record.last_failed);
  }
}

// docs/event-files.md, Taking over.
void EventFiles::take_over() {
  Asked& asked = asked_.front();
  world_.directory().take_over(asked.wanted, node_.id());
  later(5'000, 40'000, [this] {
    asked_.front().failed |= !world_.directory().over(asked_.front().wanted).empty();
    if (HF_MUTATED(READ_BEFORE_FENCE)) return answered();
    look_for_hosts();
  });
}

void EventFiles::look_for_hosts() {
  Asked& asked = asked_.front();
  for (const Hosting& hosting : asked.wanted) {
    std::vector<NodeId> hosts = world_.directory().hosts(hosting);
    hosts.push_back(world_.original(hosting.rank).node);
    for (NodeId host : hosts) asked.by_host[host][hosting.rank] = hosting.term;
  }
  read_next();
}

void EventFiles::read_next() {
  Asked& asked = asked_.front();
  if (asked.failed || asked.by_host.empty()) return HF_MUTATED(READ_BEFORE_FENCE) ? take_over() : answered();
  later(1'000, 40'000, [this] {
    Asked& asked = asked_.front();
    const auto [host, ranks] = *asked.by_host.begin();
    asked.by_host.erase(asked.by_host.begin());
    std::map<Rank, Found> found;
    const auto read = core::event_logger::find_in(world_.directory().read(host, node_.id()), name_of(host), ranks, found);
    if (read.end == FileEnd::damaged) asked.failed = true;
    for (auto& [rank, one] : found) {
      world_.checker().on_stored(rank, stored_on_disk, one.term, one.bytes.size(), one.bytes, one.last_failed);
      asked.found[rank].push_back(std::move(one));
    }
    read_next();
  });
}

void EventFiles::answered() {
  Asked asked = std::move(asked_.front());
  asked_.pop_front();
  post([asked = std::move(asked)] { asked.on_found(asked.found, asked.failed); });
  if (!asked_.empty()) return next_step();
  finish();
}

void EventFiles::finish() {
  std::vector<FileWriter::Stable> all;
  for (FileWriter::Stable stable; writer_.poll_stable(stable);) all.push_back(stable);
  bool over = false;
  for (Hosting hosting; writer_.poll_over(hosting);) over = true;
  if (!all.empty() || over) {
    post([this, all = std::move(all), over] {
      for (const FileWriter::Stable& stable : all) {
        if (!feed_.on_stable(stable)) {
          return world_.checker().violation("a file has what was not written to it");
        }
        node_.on_stable_on_disk(stable.hosting.rank);
      }
      feed_.pump();
      if (over) node_.end(false);
    });
  }
  busy_ = false;
  work();
}

}  // namespace hf::sim::job
