#include "engine/sent_before.hpp"

namespace hf::engine {
namespace {

std::tuple<bool, std::uint64_t, std::uint64_t> name_of_record(const segment::Record& record) {
  const wire::FrameHeader& h = record.header;
  return {h.kind == wire::FrameKind::matched, h.context, h.sequence};
}

}  // namespace

SentBefore::SentBefore(std::vector<PeerLog*> logs, int rank_count) : logs_(std::move(logs)) {
  to_.resize(static_cast<std::size_t>(rank_count));
}

std::optional<SentBefore::Found> SentBefore::next(Destination& to, Rank destination) {
  while (to.log < logs_.size()) {
    if (!to.reader) {
      to.reader = logs_[to.log]->reader(destination.value);
      to.reader->seek_first();
    }
    Found found{{}, to.log};
    while (!to.reader->released() && to.reader->next(found.record)) {
      if (found.record.header.kind != wire::FrameKind::dependencies) return found;
    }
    damaged_ |= to.reader->damaged();
    to.reader.reset();
    ++to.log;
  }
  return std::nullopt;
}

bool SentBefore::exhausted() {
  for (std::size_t i = 0; i < to_.size(); ++i) {
    read_all(to_[i], Rank{static_cast<std::int32_t>(i)});
    if (!to_[i].passed.empty()) return false;
  }
  return !damaged_;
}

void SentBefore::read_all(Destination& to, Rank destination) {
  while (auto found = next(to, destination)) to.passed.emplace(name_of_record(found->record), *found);
}

bool SentBefore::holds_acknowledgement(Rank destination) {
  Destination& to = to_[static_cast<std::size_t>(destination.value)];
  read_all(to, destination);
  // Names of acknowledgements stand behind all others.
  return !to.passed.empty() && std::get<0>(to.passed.rbegin()->first);
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
    Name name = name_of_record(found->record);
    if (name == wanted) return found;
    to.passed.emplace(name, *found);
  }
  return std::nullopt;
}

}  // namespace hf::engine
