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
  std::uint64_t bytes = wire::board_entries_offset + static_cast<std::uint64_t>(rank_count) * sizeof(wire::BoardEntry);
  Result<os::UniqueFd> file = os::make_memory_file("holdfast-board", bytes);
  if (!file) return std::unexpected(file.error());
  Result<os::UniqueFd> read_only = os::reopen_read_only(file->get());
  if (!read_only) return std::unexpected(read_only.error());
  Result<os::Mapping> mapping = os::Mapping::map(file->get(), true);
  if (!mapping) return std::unexpected(mapping.error());
  Board board;
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

void Board::publish() {
  auto& header = *reinterpret_cast<wire::BoardHeader*>(mapping_.bytes().data());
  store(header.epoch, header.epoch + 1);
}

}  // namespace hf::daemon
