// The directory that all nodes share (docs/event-files.md) on disks that keep what was synced, and of the rest what they like.
#pragma once
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "core/event_logger/file_writer.hpp"
#include "sim/job/random.hpp"

namespace hf::sim::job {

class Directory {
 public:
  using Hosting = core::event_logger::Hosting;
  explicit Directory(Random& random) : random_(random) {}

  // ---- event files: an agent's own
  void write(NodeId agent, std::uint64_t place, Bytes bytes);
  void sync(NodeId agent);
  // The machine is gone: what it had written and not synced is on disk in parts, whichever went out first.
  void lose_machine(NodeId agent);
  // What another machine reads: of what was not synced it may see any part. What it has seen is on disk.
  std::vector<std::byte> read(NodeId agent, NodeId by);
  // A byte that is known to be synced is another one from now on. False: there is none.
  bool damage(NodeId agent, std::uint64_t choice);

  // ---- terms
  void take_over(std::span<const Hosting> hostings, NodeId agent);
  std::vector<Hosting> over(std::span<const Hosting> hostings) const;
  std::vector<NodeId> hosts(const Hosting& below) const;  // who took the rank over under lower terms

 private:
  struct File {
    std::vector<std::byte> bytes;
    std::vector<bool> on_disk;  // of what is not synced, by block
    bool has_length = false;    // that of all bytes
    std::size_t synced = 0;
    std::size_t last = 0;   // where the last batch begins
    std::size_t known = 0;  // a batch that is synced says that so much was so before it
  };
  struct Terms {
    Term below{};  // these are over
    std::map<Term, NodeId> hosts;
  };
  void write_back(File& file);
  std::vector<std::byte> what_is_on_disk(const File& file) const;
  Random& random_;
  std::map<NodeId, File> files_;
  std::map<Rank, Terms> terms_;
};

}  // namespace hf::sim::job
