#include "daemon/event_files.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

using core::event_logger::FileEnd;
using core::event_logger::FileName;
using core::event_logger::FileRecord;
using core::event_logger::FileWriter;

namespace {

constexpr std::uint64_t in_flight_bytes_max = 4 << 20;

}  // namespace

EventFiles::EventFiles(os::EventLoop& loop, Place place, Handlers handlers)
    : loop_(loop),
      handlers_(std::move(handlers)),
      feed_(*this, in_flight_bytes_max),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      place_(std::move(place)),
      writer_(place_.name) {
  HF_CHECK(bell_);
  loop_.add(bell_.get(), EPOLLIN, [this](std::uint32_t) { on_results(); });
  thread_ = std::thread([this] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    work();
  });
}

EventFiles::~EventFiles() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  thread_.join();
  loop_.remove(bell_.get());
}

// ---- the agent's loop

void EventFiles::put(const FileRecord& record, std::vector<std::byte> bytes) {
  {
    std::lock_guard lock(mutex_);
    requests_.push_back({record, std::move(bytes)});
  }
  wanted_.notify_one();
}

void EventFiles::fetch(std::vector<Wanted> wanted, OnFound on_found) {
  {
    std::lock_guard lock(mutex_);
    asked_.push_back({std::move(wanted), std::move(on_found)});
  }
  wanted_.notify_one();
}

void EventFiles::on_results() {
  eventfd_t rings;
  ::eventfd_read(bell_.get(), &rings);
  Results results;
  {
    std::lock_guard lock(mutex_);
    results = std::exchange(results_, {});
  }
  for (const FileWriter::Stable& stable : results.stable) {
    HF_CHECK(feed_.on_stable(stable));
    handlers_.on_stable(stable.hosting.rank);
  }
  feed_.pump();
  if (!results.failure.empty() && !std::exchange(failed_, true)) {
    feed_.stop();
    handlers_.on_failed(results.failure);
  }
  for (Results::Answer& answer : results.answers) answer.on_found(std::move(answer.found), std::move(answer.failure));
  if (!results.over.empty()) handlers_.on_fenced(results.over.front().rank);
}

void EventFiles::stand_still(std::int64_t for_ns) {
  std::lock_guard lock(mutex_);
  still_until_ = os::later(os::now(), for_ns);
}

void EventFiles::fill_up() {
  std::lock_guard lock(mutex_);
  full_ = true;
}

// ---- the thread

void EventFiles::work() {
  std::unique_lock lock(mutex_);
  for (bool failed = false;;) {
    wanted_.wait(lock, [&] { return stopping_ || !requests_.empty() || !asked_.empty(); });
    if (stopping_) return;
    const std::deque<Request> requests = std::exchange(requests_, {});
    std::deque<Asked> asked = std::exchange(asked_, {});
    lock.unlock();
    Results results;
    for (const Request& request : requests) {
      FileRecord record = request.record;
      record.bytes = request.bytes;
      if (!failed) writer_.on_record(record);
    }
    for (FileWriter::Step step; !failed && (step = writer_.next()) != FileWriter::Step::none;) {
      Result<> done = do_step(step);
      if (done) continue;
      failed = true;  // what of the batch is on disk is not known: nothing of it is ever called stable
      results.failure = done.error().text;
    }
    for (FileWriter::Stable stable; writer_.poll_stable(stable);) results.stable.push_back(stable);
    for (Hosting hosting; writer_.poll_over(hosting);) results.over.push_back(hosting);
    for (Asked& one : asked) {
      Result<FoundOf> found = read(one.wanted);
      const std::string why = found ? std::string() : found.error().text;
      results.answers.push_back({std::move(one.on_found), found ? std::move(*found) : FoundOf(), why});
    }
    post(std::move(results));
    lock.lock();
  }
}

Result<> EventFiles::do_step(FileWriter::Step step) {
  switch (step) {
    case FileWriter::Step::write:
      if (Result<> written = write(); !written) return written;
      writer_.on_written();
      return {};
    case FileWriter::Step::sync:
      wait_out_standstill();
      if (::fdatasync(place_.file.get()) != 0) return fail(std::strerror(errno));
      writer_.on_synced();
      return {};
    case FileWriter::Step::look: {
      Result<std::vector<Hosting>> over = place_.directory.over(writer_.hostings());
      if (!over) return std::unexpected(over.error());
      writer_.on_looked(*over);
      return {};
    }
    case FileWriter::Step::none: break;
  }
  return {};
}

Result<> EventFiles::write() {
  {
    std::lock_guard lock(mutex_);
    if (full_) return fail(std::strerror(ENOSPC));
  }
  Bytes bytes = writer_.batch();
  for (auto at = static_cast<off_t>(writer_.place()); !bytes.empty();) {
    const ssize_t n = ::pwrite(place_.file.get(), bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(std::strerror(n < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    at += n;
  }
  return {};
}

void EventFiles::wait_out_standstill() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && os::now() < still_until_) wanted_.wait_for(lock, std::chrono::nanoseconds(still_until_.value - os::now().value));
}

// docs/event-files.md, Taking over.
Result<EventFiles::FoundOf> EventFiles::read(const std::vector<Wanted>& wanted) const {
  std::vector<Hosting> hostings;
  for (const Wanted& one : wanted) hostings.push_back(one.hosting);
  Result<std::vector<Hosting>> over = place_.directory.take_over(hostings, static_cast<int>(place_.name.agent));
  if (!over) return std::unexpected(over.error());
  if (!over->empty()) return fail(fmt::format("rank {} has been taken over by another node already", over->front().rank.value));
  std::map<int, std::map<Rank, Term>> by_host;
  for (const Wanted& one : wanted) {
    Result<std::vector<int>> hosts = place_.directory.hosts(one.hosting);
    if (!hosts) return std::unexpected(hosts.error());
    hosts->push_back(one.first_host);
    for (int host : *hosts) by_host[host][one.hosting.rank] = one.hosting.term;
  }
  FoundOf out;
  for (const auto& [host, ranks] : by_host) {
    Result<std::vector<std::byte>> bytes = place_.directory.read_file(host);
    if (!bytes) return std::unexpected(bytes.error());
    std::map<Rank, Found> found;
    const auto read = find_in(*bytes, FileName{place_.name.key, static_cast<std::uint32_t>(host)}, ranks, found);
    if (read.end == FileEnd::damaged) return fail(fmt::format("the event file of node {} is damaged at byte {}", host, read.place));
    for (auto& [rank, one] : found) out[rank].push_back(std::move(one));
  }
  return out;
}

void EventFiles::post(Results results) {
  {
    std::lock_guard lock(mutex_);
    auto append = [](auto& to, auto& from) { to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end())); };
    append(results_.stable, results.stable);
    append(results_.over, results.over);
    append(results_.answers, results.answers);
    if (results_.failure.empty()) results_.failure = results.failure;
  }
  ::eventfd_write(bell_.get(), 1);
}

}  // namespace hf::daemon
