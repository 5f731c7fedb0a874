// A simulated node's event file, and those of others that it reads. As src/daemon/event_files.hpp: `the thread` is whatever waits for
// the disk, one step after another; everything else is the agent's loop.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/event_logger/file_feed.hpp"
#include "core/event_logger/file_writer.hpp"
#include "core/event_logger/found.hpp"

namespace hf::sim::job {

class Node;
class World;

class EventFiles final : private core::event_logger::FileFeed::Writer {
 public:
  using Extent = core::event_logger::Sender::Extent;
  using Hosting = core::event_logger::Hosting;
  using Found = core::event_logger::Found;
  EventFiles(World& world, Node& node);

  void add_rank(Rank rank, Term term, const Extent& promised, const Extent& told) { feed_.add_rank(rank, term, promised, told); }
  void roll_back(Rank rank, Term term, std::uint64_t position) { feed_.roll_back(rank, term, position); }
  void look(Rank rank) { feed_.look(rank); }  // it has written something
  const Extent& stable(Rank rank) const { return feed_.stable(rank); }
  // Ranks that are taken over under these terms: what each file has of them.
  using FoundOf = std::map<Rank, std::vector<Found>>;
  using OnFound = std::function<void(const FoundOf& found, bool failed)>;
  void fetch(std::vector<Hosting> wanted, OnFound on_found);

  // Faults.
  void stand_still(std::int64_t for_ns);
  void fail() { fails_ = true; }  // with the next write, or the next sync

 private:
  struct Request {
    core::event_logger::FileRecord record;
    std::vector<std::byte> bytes;
  };
  struct Asked {
    std::vector<Hosting> wanted;
    OnFound on_found;
    FoundOf found;
    std::map<NodeId, std::map<Rank, Term>> by_host;  // files that are still to be read
    bool failed = false;
  };
  // What is to be written, by feed_.
  Extent written(Rank rank) override;
  bool read_events(Rank rank, std::uint64_t position, MutableBytes out) override;
  void put(const core::event_logger::FileRecord& record, std::vector<std::byte> bytes) override;
  void on_damaged(Rank rank) override;
  // The thread.
  void work();
  void next_step();
  void do_step(core::event_logger::FileWriter::Step step);
  void sync();
  void take_over();
  void look_for_hosts();
  void read_next();
  void answered();
  void finish();
  template <class Action>
  void later(std::int64_t low_ns, std::int64_t high_ns, Action action);
  void post(std::function<void()> action);  // to the loop

  World& world_;
  Node& node_;
  core::event_logger::FileFeed feed_;
  core::event_logger::FileWriter writer_;
  std::deque<Request> requests_, writing_;
  struct Synced {
    Term term{};
    std::uint64_t end = 0;
  };
  std::map<Rank, Synced> synced_;  // for the checker
  std::deque<Asked> asked_;
  bool busy_ = false, fails_ = false, failed_ = false;
  Instant still_until_{};
};

}  // namespace hf::sim::job
