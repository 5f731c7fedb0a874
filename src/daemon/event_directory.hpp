// The directory in which agents keep determinants at level `disk`, and the terms of hostings that are over (docs/event-files.md). Every
// call may wait for the disk. Of one thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "core/event_logger/file_writer.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class EventDirectory {
 public:
  using Hosting = core::event_logger::Hosting;
  // The head's: the directory, and the terms of all ranks in it.
  static Result<> make(const std::string& path, std::uint64_t key, int ranks);
  static Result<> remove(const std::string& path);
  // An agent's. An error: it is not there, or another job's.
  static Result<EventDirectory> open(const std::string& path, std::uint64_t key, int ranks);

  Result<os::UniqueFd> make_file(int agent) const;  // its entry is on disk
  Result<std::vector<std::byte>> read_file(int agent) const;
  Result<std::vector<Hosting>> over(std::span<const Hosting> hostings) const;
  // `agent` hosts these from now on, and lower terms of the ranks are over. The answer is on disk: those of them that are over already.
  Result<std::vector<Hosting>> take_over(std::span<const Hosting> hostings, int agent) const;
  Result<std::vector<int>> hosts(const Hosting& below) const;  // who took the rank over under lower terms

  static constexpr std::uint32_t terms_max = 1024;

 private:
  EventDirectory(std::string path, std::uint64_t key, int ranks) : path_(std::move(path)), key_(key), ranks_(ranks) {}
  Result<os::UniqueFd> open_terms(int flags) const;
  std::string file_path(int agent) const;
  std::string path_;
  std::uint64_t key_;
  int ranks_;
};

}  // namespace hf::daemon
