#include "engine/sent_before.hpp"

namespace hf::engine {
namespace {

bool is_acknowledgement(const wire::FrameHeader& h) { return h.kind == wire::FrameKind::matched; }

}  // namespace

SentBefore::SentBefore(std::vector<PeerLog*> logs, int rank_count) : logs_(std::move(logs)) {
  to_.resize(static_cast<std::size_t>(rank_count));
}

std::optional<SentBefore::Found> SentBefore::next(Destination& to, Rank destination) {
  while (to.log < logs_.size()) {
    if (!to.reader) to.reader = logs_[to.log]->reader(destination.value);
    Found found{{}, to.log};
    if (to.reader->next(found.record)) return found;
    to.reader.reset();
    ++to.log;
  }
  return std::nullopt;
}

std::optional<SentBefore::Found> SentBefore::take(Rank destination, bool acknowledgement, Context context, Sequence sequence) {
  Destination& to = to_[static_cast<std::size_t>(destination.value)];
  Name wanted{acknowledgement, context.value, sequence.value};
  if (auto it = to.passed.find(wanted); it != to.passed.end()) {
    Found found = it->second;
    to.passed.erase(it);
    return found;
  }
  while (auto found = next(to, destination)) {
    const wire::FrameHeader& h = found->record.header;
    Name name{is_acknowledgement(h), h.context, h.sequence};
    if (name == wanted) return found;
    to.passed.emplace(name, *found);
  }
  return std::nullopt;
}

}  // namespace hf::engine
