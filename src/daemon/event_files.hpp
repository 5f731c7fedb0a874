// An agent's part in keeping determinants in files (docs/event-files.md): its own ranks' are written, those of ranks that it takes over are
// read. All that waits for the disk is done by one thread; everything here is called by the agent's loop and waits for nothing.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.hpp"
#include "core/event_logger/file_feed.hpp"
#include "core/event_logger/file_writer.hpp"
#include "core/event_logger/found.hpp"
#include "daemon/event_directory.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class EventFiles final : private core::event_logger::FileFeed::Writer {
 public:
  using Extent = core::event_logger::Sender::Extent;
  using Hosting = core::event_logger::Hosting;
  using Found = core::event_logger::Found;
  struct Handlers {
    std::function<Extent(Rank)> written;  // by the rank, over all its incarnations
    std::function<bool(Rank, std::uint64_t position, MutableBytes out)> read_events;
    std::function<void(Rank)> on_stable;   // something more of it is; look() for what it has written since
    std::function<void(Rank)> on_fenced;   // it is hosted elsewhere under a newer term
    std::function<void(Rank)> on_damaged;  // what it has written cannot be read
    std::function<void(const std::string&)> on_failed;  // once: nothing more becomes stable
  };
  struct Place {
    EventDirectory directory;
    core::event_logger::FileName name;
    os::UniqueFd file;
  };
  EventFiles(os::EventLoop& loop, Place place, Handlers handlers);
  ~EventFiles();

  // `promised`: what an earlier hosting may have told to be stable; `told`: what of it is so now.
  void add_rank(Rank rank, Term term, const Extent& promised, const Extent& told) { feed_.add_rank(rank, term, promised, told); }
  void add_rank(Rank rank, Term term, const Extent& promised) { add_rank(rank, term, promised, promised); }
  void roll_back(Rank rank, Term term, std::uint64_t position) { feed_.roll_back(rank, term, position); }
  void look(Rank rank) { feed_.look(rank); }  // it has written something
  const Extent& stable(Rank rank) const { return feed_.stable(rank); }

  // For ranks that are taken over, by who hosted them first: what each file has of them.
  struct Wanted {
    Hosting hosting;
    int first_host = 0;
  };
  using FoundOf = std::map<Rank, std::vector<Found>>;
  using OnFound = std::function<void(FoundOf found, std::string failure)>;
  void fetch(std::vector<Wanted> wanted, OnFound on_found);

  // Fault injection.
  void hold_back(bool on) { feed_.hold_back(on); }  // nothing is written
  void stand_still(std::int64_t for_ns);            // the disk does
  void fill_up();                                   // the disk is full from now on

 private:
  struct Request {
    core::event_logger::FileRecord record;  // its bytes are these
    std::vector<std::byte> bytes;
  };
  struct Asked {
    std::vector<Wanted> wanted;
    OnFound on_found;
  };
  struct Results {
    std::vector<core::event_logger::FileWriter::Stable> stable;
    std::vector<Hosting> over;
    std::string failure;
    struct Answer {
      OnFound on_found;
      FoundOf found;
      std::string failure;
    };
    std::vector<Answer> answers;
  };
  // What is to be written, by feed_.
  Extent written(Rank rank) override { return handlers_.written(rank); }
  bool read_events(Rank rank, std::uint64_t position, MutableBytes out) override { return handlers_.read_events(rank, position, out); }
  void on_damaged(Rank rank) override { handlers_.on_damaged(rank); }
  void put(const core::event_logger::FileRecord& record, std::vector<std::byte> bytes) override;
  void on_results();

  // ---- of the thread
  void work();
  Result<> do_step(core::event_logger::FileWriter::Step step);
  Result<> write();
  void wait_out_standstill();
  Result<FoundOf> read(const std::vector<Wanted>& wanted) const;
  void post(Results results);

  os::EventLoop& loop_;
  Handlers handlers_;
  core::event_logger::FileFeed feed_;
  bool failed_ = false;
  os::UniqueFd bell_;  // results are there

  // The thread's alone.
  Place place_;
  core::event_logger::FileWriter writer_;

  std::mutex mutex_;
  std::condition_variable wanted_;
  // Of both.
  std::deque<Request> requests_;
  std::deque<Asked> asked_;
  Results results_;
  Instant still_until_{};
  bool full_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hf::daemon
