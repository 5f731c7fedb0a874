// What a rank takes from its agent in MPI_Init: all of it is there and in range, or the rank says what is wrong.
#include <fmt/format.h>
#include <sodium.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <thread>

#include "base/check.hpp"
#include "engine/agent_link.hpp"
#include "fuzz.hpp"
#include "os/memory_file.hpp"
#include "segment/control.hpp"

namespace hf::fuzz {
namespace {

constexpr int ranks = 3;

// The agent: one answer to one hello, with board, control segment and doorbell.
void answer(int listener, Bytes bytes) {
  os::UniqueFd rank(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  auto board = os::make_memory_file("board", wire::board_entries_offset + ranks * sizeof(wire::BoardEntry));
  auto control = os::make_memory_file("control", segment::control_bytes(ranks));
  os::UniqueFd doorbell(::eventfd(0, EFD_CLOEXEC));
  HF_CHECK(rank && board && control && doorbell);
  int fds[] = {board->get(), control->get(), doorbell.get()};
  HF_CHECK(os::receive_datagram(rank.get()).has_value());
  HF_CHECK(os::send_datagram(rank.get(), bytes, fds));
}

}  // namespace

Octets sample(Random& random) {
  Octets out;
  ByteWriter writer(out);
  if (random() % 16 == 0) {
    writer.put(wire::BootstrapKind::refused);
    writer.put_bytes(bytes_of("no"));
    return out;
  }
  wire::Welcome welcome{.rank = 1, .rank_count = ranks, .agent_count = 2, .rule_count = 2};
  writer.put(wire::BootstrapKind::welcome);
  writer.put(welcome);
  for (int i = 0; i < ranks; ++i) writer.put(wire::RankEntry{});
  for (std::uint32_t i = 0; i < welcome.rule_count; ++i) writer.put(wire::CollectiveRule{});
  return out;
}

void take(Bytes input) {
  if (input.empty()) return;  // an agent that ends: the rank ends too
  HF_CHECK(sodium_init() >= 0);
  const std::string name = fmt::format("holdfast-fuzz-{:08x}{:08x}", randombytes_random(), randombytes_random());
  auto listener = os::listen_seqpacket(name);
  HF_CHECK(listener.has_value());
  std::thread agent([&] { answer(listener->get(), input); });
  auto link = engine::AgentLink::connect(name, Rank{1});
  agent.join();
  if (!link) return HF_CHECK(!link.error().text.empty() || input.size() == sizeof(wire::BootstrapKind));
  const wire::Welcome& welcome = (*link)->welcome();
  HF_CHECK(welcome.rank < welcome.rank_count && std::ssize((*link)->ranks()) == welcome.rank_count);
  HF_CHECK(welcome.agent < welcome.agent_count);
  for (const wire::RankEntry& rank : (*link)->ranks()) HF_CHECK(rank.agent >= 0 && rank.agent < welcome.agent_count);
}

}  // namespace hf::fuzz
