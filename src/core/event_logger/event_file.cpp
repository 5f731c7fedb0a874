#include "core/event_logger/event_file.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/event_logger/store.hpp"

namespace hf::core::event_logger {
namespace {

constexpr std::uint64_t magic = 0x73746e6576656668;  // "hfevents"
constexpr std::size_t alignment = 8;

struct Head {
  std::uint64_t checksum = 0;
  std::uint32_t kind = 0;
  std::int32_t rank = 0;
  std::uint32_t term = 0;
  std::uint32_t count = 0;
  std::uint64_t position = 0, promised = 0, promised_failed = 0, last_failed = 0;
  std::uint64_t synced = 0;
};
static_assert(sizeof(Head) == 64 && sizeof(Head) % alignment == 0 && file_head_bytes % alignment == 0);

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Of all behind the checksum.
std::uint64_t checksum_of(Bytes record, const FileName& name, std::uint64_t place) {
  const std::uint64_t seeds[] = {name.key, name.agent, place};
  const Bytes rest = record.subspan(sizeof(std::uint64_t));
  return XXH3_64bits_withSeed(rest.data(), rest.size(), XXH3_64bits(seeds, sizeof seeds));
}

// The record that begins there, with its padding.
std::optional<Bytes> record_at(Bytes file, const FileName& name, std::uint64_t place, Head& head) {
  if (file.size() - place < sizeof head) return std::nullopt;
  std::memcpy(&head, file.data() + place, sizeof head);
  const auto kind = static_cast<FileRecord::Kind>(head.kind);
  const bool is_kind = kind == FileRecord::Kind::append || kind == FileRecord::Kind::cut;
  const bool fits = head.count <= file_record_bytes_max && padded(head.count) <= file.size() - place - sizeof head;
  if (!is_kind || !fits || head.rank < 0 || head.synced > place) return std::nullopt;
  const Bytes record = file.subspan(place, sizeof head + padded(head.count));
#ifndef HOLDFAST_MUTATE_NO_CHECKSUM
  if (checksum_of(record, name, place) != head.checksum) return std::nullopt;
#endif
  return record;
}

// Nothing that can be read stands at `place`.
FileEnd what_ends_at(Bytes file, const FileName& name, std::uint64_t place) {
#ifndef HOLDFAST_MUTATE_DAMAGE_IS_A_TORN_TAIL
  for (std::uint64_t at = padded(place + 1); at < file.size(); at += alignment) {
    Head head;
    if (record_at(file, name, at, head) && head.synced > place) return FileEnd::damaged;
  }
#endif
  return place < file.size() ? FileEnd::torn : FileEnd::whole;
}

bool is_head(Bytes file, const FileName& name) {
  std::vector<std::byte> head;
  encode_head(name, head);
  return file.size() >= head.size() && std::ranges::equal(file.first(head.size()), head);
}

}  // namespace

void encode_head(const FileName& name, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.put(magic);
  writer.put(name.key);
  writer.put(name.agent);
  writer.put(std::uint32_t{0});
}

void encode(const FileRecord& record, const FileName& name, std::uint64_t place, std::uint64_t synced, std::vector<std::byte>& out) {
  const auto count = static_cast<std::uint32_t>(record.bytes.size());
  const Head head{0, static_cast<std::uint32_t>(record.kind), record.rank.value, record.term.value, count,
                  record.position, record.promised.end, record.promised.last_failed.value, record.last_failed.value, synced};
  const std::size_t begin = out.size();
  ByteWriter writer(out);
  writer.put(head);
  writer.put_bytes(record.bytes);
  out.resize(begin + sizeof head + padded(record.bytes.size()));
  const std::uint64_t checksum = checksum_of(Bytes(out).subspan(begin), name, place);
  std::memcpy(out.data() + begin, &checksum, sizeof checksum);
}

FileRead read_records(Bytes file, const FileName& name, const std::function<bool(const FileRecord&)>& take) {
  if (!is_head(file, name)) return {what_ends_at(file, name, 0), 0};
  std::uint64_t place = file_head_bytes;
  for (Head head;;) {
    const auto record = record_at(file, name, place, head);
    if (!record) return {what_ends_at(file, name, place), place};
    const FileRecord read{static_cast<FileRecord::Kind>(head.kind), Rank{head.rank}, Term{head.term}, head.position,
                          {head.promised, TestClock{head.promised_failed}}, TestClock{head.last_failed}, record->subspan(sizeof head, head.count)};
    if (!take(read)) return {FileEnd::damaged, place};
    place += record->size();
  }
}

FileRead find_in(Bytes file, const FileName& name, const std::map<Rank, Term>& ranks, std::map<Rank, Found>& found) {
  Store store(UINT64_MAX);
  const FileRead read = read_records(file, name, [&](const FileRecord& record) {
    if (!ranks.contains(record.rank)) return true;
    if (record.kind == FileRecord::Kind::cut) {
      store.on_cut(record.rank, record.term, record.position);
      return true;
    }
    const auto& [kind, rank, term, position, promised, last_failed, bytes] = record;
    return store.on_append(rank, term, Generation{}, position, promised, last_failed, bytes) != Store::Verdict::gap;
  });
  for (auto [rank, term] : ranks) {
    const Store::Content content = store.on_open(rank, term);
    if (content.refused) return {FileEnd::damaged, read.place};  // written under a term that is yet to come
    found[rank] = {.known = true,  // if nothing is here, nothing was told
                   .term = content.term,
                   .promised = content.promised,
                   .last_failed = content.last_failed,
                   .bytes = {content.bytes.begin(), content.bytes.end()}};
  }
  return read;
}

}  // namespace hf::core::event_logger
