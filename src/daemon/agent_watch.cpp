// Samples for those who watch the job: what the ranks have published anyway, read out of their control segments.
#include "daemon/agent.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

void Agent::send_sample() {
  if (!segments_) return;  // the job is not known yet
  std::vector<std::byte> ranks;
  ByteWriter out(ranks);
  for (const auto& rank : ranks_) {
    const segment::ControlView control = segments_->control(rank->rank, rank->incarnation);
    if (!control || !control.valid(Rank(rank->rank), Incarnation(rank->incarnation))) continue;
    const segment::ControlHeader& header = control.header();
    RankSample one{rank->rank, rank->incarnation, segment::load_relaxed(header.call)};
    if (rank->alive()) one.waiting = segment::load_relaxed(header.waiting);
    one.log_memory_bytes = segments_->memory_bytes(rank->rank);
    one.log_disk_bytes = segments_->disk_bytes(rank->rank);
    one.counters = header.counters;
    out.put(one);
  }
  send_head(ControlKind::sample, SampleHead{os::now().value}, ranks);
}

}  // namespace hf::daemon
