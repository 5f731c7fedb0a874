#include "daemon/board.hpp"

#include <atomic>
#include <new>

#include "os/memory_file.hpp"

namespace hf::daemon {
namespace {

void store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace

Result<Board> Board::create(int rank_count) {
  const std::uint64_t bytes = wire::board_bytes(rank_count);
  Result<os::UniqueFd> file = os::make_memory_file("holdfast-board", bytes);
  if (!file) return std::unexpected(file.error());
  Result<os::UniqueFd> read_only = os::reopen_read_only(file->get());
  if (!read_only) return std::unexpected(read_only.error());
  Result<os::Mapping> mapping = os::Mapping::map(file->get(), true);
  if (!mapping) return std::unexpected(mapping.error());
  Board board;
  board.rank_count_ = rank_count;
  board.mapping_ = std::move(*mapping);
  board.read_only_ = std::move(*read_only);
  wire::BoardHeader header;
  header.rank_count = static_cast<std::uint32_t>(rank_count);
  std::memcpy(board.mapping_.bytes().data(), &header, sizeof header);
  return board;
}

wire::BoardEntry& Board::entry(int rank) const {
  auto* entries = reinterpret_cast<wire::BoardEntry*>(mapping_.bytes().data() + wire::board_entries_offset);
  return entries[rank];
}

std::uint32_t Board::incarnation(int rank) const {
  return static_cast<std::uint32_t>(entry(rank).incarnation_and_state >> 8);
}

void Board::set_state(int rank, std::uint32_t incarnation, wire::RankState state) {
  if (incarnation < this->incarnation(rank)) return;
  // The address of an older incarnation goes first: no reader may take it for the new one's.
  if (incarnation > this->incarnation(rank)) store(entry(rank).address_and_port, 0);
  std::uint64_t flags = entry(rank).incarnation_and_state & wire::board_unprotected;
  store(entry(rank).incarnation_and_state, std::uint64_t{incarnation} << 8 | flags | static_cast<std::uint32_t>(state));
  publish();
}

void Board::set_unprotected(int rank) {
  store(entry(rank).incarnation_and_state, entry(rank).incarnation_and_state | wire::board_unprotected);
  publish();
}

void Board::set_cut_off(int rank, bool on) {
  if (entry(rank).cut_off == static_cast<std::uint64_t>(on)) return;
  store(entry(rank).cut_off, on);
  publish();
}

void Board::set_address(int rank, std::uint32_t incarnation, std::uint32_t address, std::uint16_t port) {
  if (incarnation != this->incarnation(rank)) return;
  store(entry(rank).address_and_port, std::uint64_t{address} << 16 | port);
  publish();
}

void Board::set_place(int rank, int agent, std::uint32_t log_base, std::uint32_t address, std::uint16_t port) {
  store(entry(rank).log_address_and_port, std::uint64_t{address} << 16 | port);
  store(entry(rank).agent_and_log_base, static_cast<std::uint64_t>(agent) << 32 | log_base);
  publish();
}

void Board::set_stable(int rank, std::uint64_t events, std::uint64_t last_failed) {
  store(entry(rank).stable_failed, last_failed);
  store(entry(rank).stable_events, events);
}

void Board::set_events_term(int rank, Term term) {
  store(entry(rank).events_term, term.value);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Board::set_events_holder(int agent) {
  store(reinterpret_cast<wire::BoardHeader*>(mapping_.bytes().data())->events_holder, static_cast<std::uint64_t>(agent + 1));
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

wire::BoardDependencies& Board::dependencies_of(int rank) const {
  auto* all = reinterpret_cast<wire::BoardDependencies*>(mapping_.bytes().data() + wire::board_dependencies_offset(rank_count_));
  return all[rank];
}

const wire::BoardDependencies& Board::dependencies(int rank) const { return dependencies_of(rank); }

bool Board::add_cut(int rank, Term term, std::uint64_t position) {
  wire::BoardDependencies& of = dependencies_of(rank);
  for (std::uint64_t i = 0; i < of.cut_count; ++i) {
    if (of.cuts[i] >> wire::board_position_bits == term.value) return true;
  }
  if (of.cut_count == wire::board_cuts_max) return false;
  store(of.cuts[of.cut_count], wire::board_position(term.value, position));
  store(of.cut_count, of.cut_count + 1);
  auto& header = *reinterpret_cast<wire::BoardHeader*>(mapping_.bytes().data());
  store(header.cut_total, header.cut_total + 1);
  publish();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

void Board::set_stable_of(int rank, Term term, std::uint64_t position) {
  const std::uint64_t word = wire::board_position(term.value, position);
  if (word <= dependencies_of(rank).stable) return;
  store(dependencies_of(rank).stable, word);
  auto& header = *reinterpret_cast<wire::BoardHeader*>(mapping_.bytes().data());
  store(header.stable_news, header.stable_news + 1);
}

void Board::set_looked_at(int rank, bool on) {
  store(dependencies_of(rank).looked_at, std::uint64_t{on});
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Board::publish() {
  auto& header = *reinterpret_cast<wire::BoardHeader*>(mapping_.bytes().data());
  store(header.epoch, header.epoch + 1);
}

}  // namespace hf::daemon
