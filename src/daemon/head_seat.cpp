#include "daemon/head_seat.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "os/memory_file.hpp"

namespace hf::daemon {

Result<HeadSeat> make_head_seat(const LaunchOptions& options, const std::vector<std::string>& hosts) {
  HeadSeat seat;
  randombytes_buf(seat.key.data(), seat.key.size());
  seat.loopback_only = on_this_machine(options, hosts);
  std::uint32_t at = seat.loopback_only ? os::loopback_address() : os::every_address;
  if (!options.head_address.empty()) {
    auto given = os::resolve(options.head_address);
    if (!given) return fail(fmt::format("--head-address {}: not an address of this machine", options.head_address));
    at = *given;
  }
  Result<os::TcpListener> listener = os::listen_tcp(at);
  if (!listener && !options.head_address.empty()) return fail(fmt::format("--head-address {}: {}", options.head_address, listener.error().text));
  if (!listener) return std::unexpected(listener.error());
  seat.listener = std::move(*listener);
  return seat;
}

// The memory is shared with processes forked later, and never unmapped.
Result<> keep_seat(HeadSeat& seat, int ranks, int agents) {
  Result<os::UniqueFd> input = os::make_memory_file("holdfast-stdin", 0);
  if (!input) return std::unexpected(input.error());
  seat.input = std::move(*input);
  static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free && sizeof(std::atomic<bool>) == 1);
  static_assert(sizeof(HeadFacts) % alignof(RankFacts) == 0 && sizeof(RankFacts) % alignof(EventsCut) == 0);
  const auto rank_count = static_cast<std::size_t>(ranks);
  const std::size_t bytes = sizeof(HeadFacts) + rank_count * sizeof(RankFacts) + HeadFacts::cuts_max(ranks) * sizeof(EventsCut) +
                            (rank_count + 1) * static_cast<std::size_t>(agents);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return fail(fmt::format("no memory to share with the head: {}", std::strerror(errno)));
  // All else begins as zeros, as it is there.
  seat.facts = new (memory) HeadFacts;
  seat.facts->ranks = ranks;
  seat.facts->agents = agents;
  return {};
}

}  // namespace hf::daemon
