#include "sim/job/directory.hpp"

#include <algorithm>

#include "core/event_logger/event_file.hpp"

namespace hf::sim::job {
namespace {

constexpr std::size_t block_bytes = 32;

}  // namespace

void Directory::write(NodeId agent, std::uint64_t place, Bytes bytes) {
  File& file = files_[agent];
  if (file.bytes.size() < place + bytes.size()) file.bytes.resize(place + bytes.size());
  std::ranges::copy(bytes, file.bytes.begin() + static_cast<std::ptrdiff_t>(place));
  file.last = place;
}

void Directory::sync(NodeId agent) {
  File& file = files_[agent];
  file.synced = file.bytes.size();
  file.known = file.last;
  file.on_disk.clear();
  file.has_length = false;
}

// Blocks of what is not synced are written in any order; a file may have its new length before its new bytes, or not.
void Directory::write_back(File& file) {
  file.on_disk.resize((file.bytes.size() - file.synced + block_bytes - 1) / block_bytes);
  const std::uint64_t way = random_.below(4);  // nothing more, all of it, or some
  for (std::size_t i = 0; i < file.on_disk.size(); ++i) {
    if (way == 1 || (way > 1 && random_.one_in(2))) file.on_disk[i] = true;
  }
  file.has_length |= way == 1 || random_.one_in(2);
}

std::vector<std::byte> Directory::what_is_on_disk(const File& file) const {
  std::vector<std::byte> out = file.bytes;
  std::size_t end = file.has_length ? out.size() : file.synced;
  for (std::size_t i = 0; i < file.on_disk.size(); ++i) {
    const std::size_t at = file.synced + i * block_bytes, next = std::min(at + block_bytes, out.size());
    if (file.on_disk[i]) end = std::max(end, next);
    else std::fill(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(next), std::byte{});
  }
  out.resize(end);
  return out;
}

void Directory::lose_machine(NodeId agent) {
  File& file = files_[agent];
  write_back(file);
  file.bytes = what_is_on_disk(file);
  file.synced = file.bytes.size();
  file.on_disk.clear();
}

std::vector<std::byte> Directory::read(NodeId agent, NodeId by) {
  auto at = files_.find(agent);
  if (at == files_.end()) return {};
  if (agent == by) return at->second.bytes;
  write_back(at->second);
  return what_is_on_disk(at->second);
}

bool Directory::damage(NodeId agent, std::uint64_t choice) {
  File& file = files_[agent];
  if (file.known <= core::event_logger::file_head_bytes) return false;
  file.bytes[choice % file.known] ^= std::byte{1};
  return true;
}

void Directory::take_over(std::span<const Hosting> hostings, NodeId agent) {
  for (const Hosting& hosting : hostings) {
    Terms& terms = terms_[hosting.rank];
    terms.below = std::max(terms.below, hosting.term);
    terms.hosts[hosting.term] = agent;
  }
}

std::vector<Directory::Hosting> Directory::over(std::span<const Hosting> hostings) const {
  std::vector<Hosting> out;
  for (const Hosting& hosting : hostings) {
    auto at = terms_.find(hosting.rank);
    if (at != terms_.end() && hosting.term < at->second.below) out.push_back(hosting);
  }
  return out;
}

std::vector<NodeId> Directory::hosts(const Hosting& below) const {
  std::vector<NodeId> out;
  auto at = terms_.find(below.rank);
  if (at == terms_.end()) return out;
  for (auto [term, agent] : at->second.hosts) {
    if (term < below.term) out.push_back(agent);
  }
  return out;
}

}  // namespace hf::sim::job
