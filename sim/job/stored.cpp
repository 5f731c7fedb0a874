#include "sim/job/stored.hpp"

#include <algorithm>
#include <cstring>

#include "core/vprotocol/events.hpp"

namespace hf::sim::job {

using core::vprotocol::EventHead;
using core::vprotocol::EventKind;

namespace {

bool suffices_for(const StoredEvents::Wanted& wanted, const std::vector<int>& places) {
  const auto agents = std::ranges::count_if(places, [](int place) { return place >= 0; });
  const bool disk = std::ranges::find(places, stored_on_disk) != places.end();
  const bool found = std::ranges::find(places, stored_and_found) != places.end();
  return (found || agents >= wanted.agents) && (disk || !wanted.disk);
}

// How far all places that are wanted have it.
std::uint64_t least(const StoredEvents::Wanted& wanted, const std::map<int, std::uint64_t>& by_place) {
  std::vector<std::uint64_t> agents;
  std::uint64_t disk = 0, most = 0, found = 0;
  for (auto [place, end] : by_place) {
    most = std::max(most, end);
    if (place >= 0) agents.push_back(end);
    if (place == stored_on_disk) disk = end;
    if (place == stored_and_found) found = end;
  }
  std::ranges::sort(agents, std::greater());
  agents.resize(std::max(agents.size(), static_cast<std::size_t>(wanted.agents)));
  const std::uint64_t out = wanted.agents == 0 ? most : std::max(found, agents[static_cast<std::size_t>(wanted.agents - 1)]);
  return wanted.disk ? std::min(out, disk) : out;
}

}  // namespace

// What was stable stays so: it may suffice now that less is wanted.
void StoredEvents::want(Term term, const Wanted& wanted) {
  hostings_[term].wanted = wanted;
  forget_old_hostings();
  for (auto at = partly_.begin(); at != partly_.end();) {
    if (!suffices(at->second)) {
      ++at;
      continue;
    }
    stable_.insert(at->first);
    at = partly_.erase(at);
  }
  settle_tests();
}

void StoredEvents::on_hosting_over(Term term) {
  if (auto at = hostings_.find(term); at != hostings_.end()) at->second.over = true;
  forget_old_hostings();
}

void StoredEvents::forget_old_hostings() {
  if (hostings_.empty()) return;
  const Term newest = hostings_.rbegin()->first;
  std::erase_if(hostings_, [&](const auto& hosting) { return hosting.second.over && hosting.first != newest; });
}

bool StoredEvents::suffices(const std::vector<int>& places) const {
  return std::ranges::any_of(hostings_, [&](const auto& hosting) { return suffices_for(hosting.second.wanted, places); });
}

void StoredEvents::store(int place, Kind kind, std::uint64_t key) {
  const Key name(kind, key);
  if (stable_.contains(name)) return;
  auto& places = partly_[name];
  if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  if (!suffices(places)) return;
  stable_.insert(name);
  partly_.erase(name);
}

std::uint64_t StoredEvents::stable_end(const std::map<int, std::uint64_t>& by_place) const {
  std::uint64_t out = 0;
  for (const auto& [term, hosting] : hostings_) out = std::max(out, least(hosting.wanted, by_place));
  return out;
}

void StoredEvents::settle_tests() { last_test_ = std::max(last_test_, stable_end(last_tests_)); }

// From the beginning of an event on.
Bytes StoredEvents::with_begun(int place, std::uint64_t position, Bytes events) {
  Begun& begun = begun_[place];
  if (position <= begun.position || position > begun.position + begun.bytes.size()) begun = {position, {}};
  begun.bytes.resize(position - begun.position);
  begun.bytes.insert(begun.bytes.end(), events.begin(), events.end());
  return begun.bytes;
}

void StoredEvents::on_stored(int place, std::uint64_t position, Bytes added, TestClock last_failed) {
  Bytes events = with_begun(place, position, added);
  std::uint64_t& last_test = last_tests_[place];
  last_test = std::max(last_test, last_failed.value);
  for (EventHead head; events.size() >= sizeof(head);) {
    std::memcpy(&head, events.data(), sizeof(head));
    const std::uint64_t bytes = core::vprotocol::encoded_bytes(head);
    if (bytes > events.size()) break;
    if (head.kind == EventKind::match) store(place, Kind::match, head.key);
    if (head.kind == EventKind::delivery) {
      store(place, Kind::delivery, head.key);
      last_test = std::max(last_test, head.key);
    }
    if (head.kind == EventKind::time) store(place, Kind::time, head.key);
    if (head.kind == EventKind::cancel) store(place, Kind::cancel, head.key);
    events = events.subspan(bytes);
  }
  Begun& begun = begun_[place];
  const std::size_t whole = begun.bytes.size() - events.size();
  begun.position += whole;
  begun.bytes.erase(begun.bytes.begin(), begun.bytes.begin() + static_cast<std::ptrdiff_t>(whole));
  settle_tests();
}

void StoredEvents::on_cut(Term term, std::uint64_t position) {
  term_ = std::max(term_, term);
  cuts_.push_back({term, position});
  for (auto& [place, end] : ends_) end = std::min(end, position);
}

std::uint64_t StoredEvents::on_extent(int place, Term term, std::uint64_t end) {
  for (auto [cut, position] : cuts_) {
    if (cut > term) end = std::min(end, position);
  }
  ends_[place] = std::max(ends_[place], end);
  return stable_end();
}

}  // namespace hf::sim::job
