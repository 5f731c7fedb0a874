// What agents tell the head of their ranks, and what the head makes of it: the summary, the report and the trace.
#include "base/check.hpp"
#include "daemon/report.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr int ranks = 3;
constexpr auto last_kind = daemon::EventKind::unprotect;

daemon::Job job_of_three() {
  daemon::Job job;
  job.programs.push_back({ranks, "/bin/true", {"true"}});
  job.nodes = {{"a"}};
  job.node_of_rank.assign(ranks, 0);
  return job;
}

}  // namespace

// Events, each with the length of the text that follows it.
Octets sample(Random& random) {
  Octets out;
  ByteWriter writer(out);
  for (std::uint64_t n = random() % 20; n > 0; --n) {
    daemon::Event event;
    event.kind = static_cast<daemon::EventKind>(random() % (static_cast<std::uint32_t>(last_kind) + 1));
    event.rank = static_cast<std::int32_t>(random() % ranks);
    event.incarnation = static_cast<std::uint32_t>(random() % 4);
    event.time_ns = static_cast<std::int64_t>(random() % 1'000'000'000);
    event.a = random() % 12;
    writer.put(event);
    const std::size_t text = event.kind == daemon::EventKind::counters ? sizeof(segment::Counters) : random() % 20;
    writer.put(static_cast<std::uint16_t>(text));
    out.resize(out.size() + text, std::byte{'x'});
  }
  return out;
}

void take(Bytes input) {
  static const daemon::Job job = job_of_three();
  daemon::Timeline timeline(ranks, Instant{});
  for (ByteReader in(input); in.left() > sizeof(daemon::Event) + sizeof(std::uint16_t);) {
    const auto event = in.get<daemon::Event>();
    std::size_t size = in.get<std::uint16_t>();
    timeline.on_event(event, in.get_bytes(std::min(size, in.left())));
  }
  timeline.on_end(Instant{1'000'000'000}, 1);
  for (const std::string& text : {summary(timeline), report_json(timeline, job, {}), trace_json(timeline, job)}) touch(bytes_of(text));
}

}  // namespace hf::fuzz
