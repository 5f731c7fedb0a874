#include "sim/job/network.hpp"

#include <algorithm>

#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

namespace {

Frame opening_of(const Process& by, std::size_t position) {
  Frame opening;
  opening.opening = true;
  opening.source = by.self();
  opening.incarnation = by.incarnation();
  opening.position = position;
  return opening;
}

// On a network: of the payload, or of what is said about dependencies, and of the header.
std::size_t bytes_of(const Frame& frame) {
  return sizeof(wire::FrameHeader) + (frame.dependencies ? frame.dependencies->size() : frame.payload.bytes);
}

}  // namespace

std::uint64_t Network::pair_of(const Connection& c) {
  std::uint64_t a = key(c.ends[0].rank, c.ends[0].incarnation), b = key(c.ends[1].rank, c.ends[1].incarnation);
  return mix(std::min(a, b), std::max(a, b));
}

std::uint64_t Network::dial(Process& from, Rank to, const BoardEntry& known, std::size_t position) {
  Connection c;
  c.ends = {End{from.self(), from.incarnation(), 0}, End{to, known.incarnation, 0}};
  c.pair = pair_of(c);
  auto [at, is_new] = of_pair_.try_emplace(c.pair, next_ + 1);
  if (!is_new) return 0;
  const std::uint64_t id = ++next_;
  connections_.emplace(id, c);
  of_process_[key(from.self(), from.incarnation())].push_back(id);
  carry(id, 1, opening_of(from, position));
  return id;
}

bool Network::accept(std::uint64_t id, Process& by, std::size_t position) {
  auto at = connections_.find(id);
  if (at == connections_.end() || at->second.lost) return false;
  of_process_[key(by.self(), by.incarnation())].push_back(id);
  carry(id, 1 - side_of(at->second, by.self()), opening_of(by, position));
  return true;
}

void Network::send(std::uint64_t id, Rank from, const Frame& frame) {
  auto at = connections_.find(id);
  if (at == connections_.end() || at->second.lost) return;
  carry(id, 1 - side_of(at->second, from), frame);
}

std::int64_t Network::arrival(Connection& c, std::size_t to, std::size_t bytes) {
  const NodeId from = world_.node_id_of(c.ends[1 - to].rank, c.ends[1 - to].incarnation);
  const bool local = from == world_.node_id_of(c.ends[to].rank, c.ends[to].incarnation);
  End& end = c.ends[to];
  end.last = std::max(end.last + 1, world_.now().value + world_.pace().passage(world_.now(), from, local, bytes));
  return end.last - world_.now().value;
}

void Network::carry(std::uint64_t id, std::size_t to, const Frame& frame) {
  const std::int64_t in = arrival(connections_.at(id), to, bytes_of(frame));
  world_.events().in(in, [this, id, to, frame] { arrive(id, to, frame); });
}

void Network::arrive(std::uint64_t id, std::size_t to, const Frame& frame) {
  auto at = connections_.find(id);
  if (at == connections_.end() || at->second.lost) return;
  const End end = at->second.ends[to];
  const Rank from = at->second.ends[1 - to].rank;
  Process* process = world_.find(end.rank, end.incarnation);
  if (!process) {
    if (frame.opening) close(id, 1 - to);  // refused
    return;
  }
  world_.to_process(*process, [from, id, frame](Process& p) { p.on_frame(from, id, frame); });
}

// The end of it, behind all that is on its way to that side.
void Network::close(std::uint64_t id, std::size_t to) {
  Connection& c = connections_.at(id);
  forget(c);
  const std::int64_t in = arrival(c, to, 0);
  world_.events().in(in, [this, id, to] {
    auto at = connections_.find(id);
    if (at == connections_.end()) return;
    const End end = at->second.ends[to];
    const Rank from = at->second.ends[1 - to].rank;
    at->second.lost = true;
    if (Process* process = world_.find(end.rank, end.incarnation)) {
      world_.to_process(*process, [from, id](Process& p) { p.on_connection_closed(from, id); });
    }
  });
}

void Network::forget(Connection& c) {
  if (c.pair != 0) of_pair_.erase(c.pair);
  c.pair = 0;
}

void Network::leave(std::uint64_t id, Rank by) {
  auto at = connections_.find(id);
  if (at != connections_.end() && !at->second.lost) close(id, 1 - side_of(at->second, by));
}

void Network::on_end(Process& process, bool silent) {
  auto of = of_process_.find(key(process.self(), process.incarnation()));
  if (of == of_process_.end()) return;
  for (std::uint64_t id : of->second) {
    if (!silent) leave(id, process.self());
    else if (auto at = connections_.find(id); at != connections_.end()) forget(at->second);
  }
  of_process_.erase(of);
}

void Network::lose_one(std::uint64_t choice) {
  if (of_pair_.empty()) return;
  // In the order of their numbers: that of the table is nobody's business.
  std::vector<std::uint64_t> usable;
  for (const auto& [pair, id] : of_pair_) usable.push_back(id);
  const std::uint64_t id = usable[choice % usable.size()];
  Connection& c = connections_.at(id);
  close(id, 0);
  close(id, 1);
  c.lost = true;
}

}  // namespace hf::sim::job
