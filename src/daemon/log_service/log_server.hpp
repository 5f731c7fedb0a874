// Serves the logs of this node's ranks to ranks of other nodes (design section 6.3). Part of the agent; one thread,
// non-blocking. Whoever asks has proved that it belongs to the job; who cannot is refused and reported once an address.
// The asking rank's next call, and the logging rank's, are not needed: only the segments are read.
//
// Driving it: put descriptor() into the agent's loop, level-triggered; call poll() when it is readable, then
// poll_report() until it gives false.
#pragma once
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "rail/tcp/handshake.hpp"

namespace hf::daemon {

// Where the segments of this node's ranks are. All views stay mapped as long as the server lives.
class SegmentProvider {
 public:
  virtual ~SegmentProvider() = default;
  // The control segment; empty when there is no such incarnation on this node (yet).
  virtual Bytes control(Rank rank, Incarnation incarnation) = 0;
  // A log segment; empty when there is none of this index.
  virtual Bytes segment(Rank rank, Incarnation incarnation, std::uint32_t index) = 0;
  // True once the incarnation is dead or has finished: what it has published by then is all there will ever be.
  virtual bool is_final(Rank rank, Incarnation incarnation) = 0;
  // Whether events of a rank of this node are stable to this extent at the job's level. If not, they will be, soon.
  virtual bool make_stable(Rank rank, std::uint64_t events, TestClock failed) = 0;
};

struct LogServerOptions {
  NodeId node{};
  int rank_count = 1;
  rail::tcp::Key job_key{};
  std::int64_t handshake_timeout_ms = 30'000;
  int connections_max = 4096;  // one a remote rank; more wait in the kernel
};

class LogServer {
 public:
  // The listening socket must be non-blocking; it stays the caller's, as does the provider, and both outlive the server.
  LogServer(int listener, const LogServerOptions& options, SegmentProvider& provider);
  ~LogServer();
  LogServer(const LogServer&) = delete;
  LogServer& operator=(const LogServer&) = delete;

  int descriptor() const;
  void poll();
  bool poll_report(std::string& line);  // something for the user, said once

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hf::daemon
