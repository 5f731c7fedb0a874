// One neighbour that is watched: when it was heard last, how regular it is, and from when on its silence means death. Pure.
//
// Its host answers by itself, also for an agent that gets no core: a silent agent on a host that answers has more time than a silent host.
//
// The mean of the gaps and their mean deviation are followed as RFC 6298 follows round-trip times: with weights 1/8 and 1/4.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/ids.hpp"
#include "core/membership/options.hpp"

namespace hf::core::membership {

class Watch {
 public:
  explicit Watch(Instant now) : heard_(now), host_heard_(now), beat_(now) {}

  void on_frame(Instant now) {
    heard_ = now;
    suspected_ = closed_;
  }
  void on_heartbeat(Instant now) {
    if (beats_ > 0) {
      std::int64_t gap = now.value - beat_.value;
      if (beats_ == 1) mean_ns_ = gap, deviation_ns_ = gap / 2;
      deviation_ns_ += (std::abs(gap - mean_ns_) - deviation_ns_) / 4;
      mean_ns_ += (gap - mean_ns_) / 8;
    }
    beat_ = now;
    ++beats_;
    on_frame(now);
  }
  // Its host's network acknowledged something then.
  void on_host(Instant then) { host_heard_ = std::max(host_heard_, then); }
  void on_closed() {
    suspected_ = closed_ = true;
    silent_ns_ = 0;
  }
  // The watcher itself did not run for this long: it could not hear.
  void forgive(std::int64_t ns, Instant now) {
    heard_.value = std::min(heard_.value + ns, now.value);
    host_heard_.value = std::min(host_heard_.value + ns, now.value);
    beat_.value = std::min(beat_.value + ns, now.value);
  }
  // The silence that is allowed, of one that has been heard: until its gaps are known, the longest.
  std::int64_t threshold_ns(const MembershipOptions& o) const {
    if (beats_ < 4) return o.silence_ceiling_ns;
    auto wanted = mean_ns_ + static_cast<std::int64_t>(o.deviations * static_cast<double>(deviation_ns_));
    return std::clamp(wanted, o.silence_floor_ns, o.silence_ceiling_ns);
  }
  Instant deadline(const MembershipOptions& o, bool started) const {
    if (!started) return Instant(heard_.value + o.start_ns);
    if (beats_ == 0) return Instant(heard_.value + o.contact_ns);
    const std::int64_t allowed = threshold_ns(o), silent_host = std::max(heard_, host_heard_).value + allowed;
    return Instant(std::min(silent_host, heard_.value + std::max(allowed, o.agent_silence_ns)));
  }
  void on_timeout(Instant now, const MembershipOptions& o, bool started) {
    if (suspected_ || now < deadline(o, started)) return;
    suspected_ = true;
    silent_ns_ = now.value - heard_.value;
  }
  // From the start of the job on the time for the first contact counts.
  void on_started(Instant now) {
    if (beats_ == 0) heard_ = now;
  }
  bool suspected() const { return suspected_; }
  std::int64_t silent_ns() const { return silent_ns_; }  // when it was suspected; 0: its connection was closed

 private:
  Instant heard_;
  Instant host_heard_;
  Instant beat_;
  std::int64_t mean_ns_ = 0, deviation_ns_ = 0;
  std::int64_t silent_ns_ = 0;
  std::uint64_t beats_ = 0;
  bool suspected_ = false;
  bool closed_ = false;  // is never taken back: a closed connection is death
};

}  // namespace hf::core::membership
