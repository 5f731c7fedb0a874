#include "recorder/file_index.hpp"

#include <string.h>

#include <algorithm>
#include <tuple>

#include "core/vprotocol/events.hpp"

namespace hf::recorder {
namespace {

using core::vprotocol::EventHead;

// each(head, place) of the events of files at the beginning.
template <class Each>
void walk(const std::byte* record, std::size_t bytes, Each each) {
  EventHead head;
  for (std::size_t at = 0; bytes - at >= sizeof head; at += core::vprotocol::encoded_bytes(head)) {
    memcpy(&head, record + at, sizeof head);
    if (head.kind != core::vprotocol::EventKind::file || core::vprotocol::encoded_bytes(head) > bytes - at) return;
    each(head, at);
  }
}

bool before(const FilePlace& a, const FilePlace& b) { return std::tie(a.name, a.what, a.at) < std::tie(b.name, b.what, b.at); }

}  // namespace

std::size_t FileIndex::count(const std::byte* record, std::size_t bytes) {
  std::size_t count = 0;
  walk(record, bytes, [&](const EventHead&, std::size_t) { ++count; });
  return count;
}

void FileIndex::build(const std::byte* record, std::size_t bytes, FilePlace* places) {
  record_ = record;
  begin_ = end_ = places;
  walk(record, bytes, [this](const EventHead& head, std::size_t at) { *end_++ = {head.key, head.count, at}; });
  std::sort(begin_, end_, before);
}

FileIndex::Range FileIndex::find(std::uint64_t name, std::uint32_t what) const {
  const FilePlace* const first = std::lower_bound(begin_, end_, FilePlace{name, what, 0}, before);
  return {first, std::upper_bound(first, const_cast<const FilePlace*>(end_), FilePlace{name, what, UINT64_MAX}, before)};
}

const std::byte* FileIndex::body(const FilePlace& place) const { return record_ + place.at + sizeof(EventHead); }

}  // namespace hf::recorder
