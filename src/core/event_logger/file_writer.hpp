// In which order an agent writes its ranks' determinants to its event file, and from when on they are stable (docs/event-files.md). Pure.
//
// Driving it: on_record() for each; then, while next() is not `none`, do what it says and report it. After `look`, poll_stable() and
// poll_over() until they give nothing. What comes while a batch is under way is of the next.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/event_logger/event_file.hpp"
#include "core/event_logger/sender.hpp"

namespace hf::core::event_logger {

struct Hosting {
  Rank rank{};
  Term term{};
  auto operator<=>(const Hosting&) const = default;
};

class FileWriter {
 public:
  explicit FileWriter(const FileName& name);

  void on_record(const FileRecord& record);
  enum class Step { none, write, sync, look };
  Step next();
  // write: these bytes at this place of the file.
  Bytes batch() const { return batch_; }
  std::uint64_t place() const { return size_; }
  void on_written() { advance(); }
  // sync: all that was written is on disk.
  void on_synced() { advance(); }
  // look: which of these hostings are over; after that the batch is done.
  std::vector<Hosting> hostings() const;
  void on_looked(std::span<const Hosting> over);

  struct Stable {
    Hosting hosting;
    Sender::Extent extent;
  };
  bool poll_stable(Stable& stable);
  bool poll_over(Hosting& hosting);

 private:
  struct Stream {
    Term term{};
    Sender::Extent extent;
  };
  void advance();
  void finish();
  FileName name_;
  std::vector<std::byte> gathered_, batch_;
  std::map<Rank, Stream> streams_;                         // as the records say
  std::map<Rank, Stream> gathered_streams_, batch_streams_;  // those of the records gathered, and of the batch
  std::uint64_t size_ = 0;  // of the file, before the batch
  std::size_t step_ = 0;    // of the batch that is under way
  bool under_way_ = false;
  std::vector<Hosting> over_;
  std::vector<Stable> stable_;
};

}  // namespace hf::core::event_logger
