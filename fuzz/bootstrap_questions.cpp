// What a process says to the agent of its node on the Unix socket: a rank gone wild, or none of the job.
#include <sys/socket.h>

#include "base/check.hpp"
#include "daemon/bootstrap_server.hpp"
#include "fuzz.hpp"

namespace hf::fuzz {
namespace {

constexpr int job_ranks = 3, local_ranks = 2;
constexpr std::uint64_t segment_bytes = 1 << 20;

struct Owner : daemon::BootstrapOwner {
  Owner() : store(job_ranks, {3 * segment_bytes, 0, "", segment_bytes, 0}) {
    for (int rank = 0; rank < local_ranks; ++rank) HF_CHECK(store.create_incarnation(rank));
  }
  static bool is_local(int rank) { return rank >= 0 && rank < local_ranks; }
  Result<> may_have_past(int rank, pid_t process) override { return may_join(rank, process); }
  Result<> may_join(int rank, pid_t) override { return is_local(rank) ? Result<>() : fail("it is not of this node"); }
  void on_joined(int rank, pid_t) override { HF_CHECK(is_local(rank)); }
  wire::Welcome welcome(int rank) override { return {.rank = rank, .rank_count = job_ranks}; }
  std::vector<wire::RankEntry> ranks() override { return std::vector<wire::RankEntry>(job_ranks); }
  std::vector<wire::CollectiveRule> rules;
  const std::vector<wire::CollectiveRule>& collective_rules() override { return rules; }
  int board_fd() override { return store.control_fd(0, 0); }
  int own_control_fd(int rank) override { return store.control_fd(rank, 0); }
  int doorbell_fd(int rank) override { return is_local(rank) ? store.control_fd(rank, 0) : -1; }
  daemon::SegmentStore& segments() override { return store; }
  void on_exhausted(int rank, const wire::Exhausted&) override { HF_CHECK(is_local(rank)); }
  void on_told(int rank, wire::BootstrapKind, Bytes payload) override {
    HF_CHECK(is_local(rank));
    touch(payload);
  }
  void on_fatal(int, const std::string&) override { HF_CHECK(false); }
  void on_stranger(const std::string& line) override {
    ++strangers;
    touch(bytes_of(line));
  }
  daemon::SegmentStore store;
  int strangers = 0;
};

void put(Octets& out, Bytes datagram) {
  ByteWriter writer(out);
  writer.put(static_cast<std::uint16_t>(datagram.size()));
  writer.put_bytes(datagram);
}

template <class T>
void put(Octets& out, wire::BootstrapKind kind, const T& body) {
  Octets datagram;
  ByteWriter writer(datagram);
  writer.put(kind);
  writer.put(body);
  put(out, datagram);
}

}  // namespace

// Datagrams, each behind its length.
Octets sample(Random& random) {
  Octets out;
  auto small = [&] { return static_cast<std::int32_t>(random() % 4); };
  if (random() % 8) put(out, wire::BootstrapKind::hello, wire::Hello{.rank = small()});
  for (std::uint64_t n = random() % 8; n > 0; --n) {
    switch (random() % 4) {
      case 0: put(out, wire::BootstrapKind::get_segment, wire::SegmentName{small(), static_cast<std::uint32_t>(small()), {}, 0}); break;
      case 1: put(out, wire::BootstrapKind::get_doorbell, wire::RankName{small()}); break;
      case 2: put(out, wire::BootstrapKind::new_log_segment, std::uint8_t{}); break;
      default: put(out, static_cast<wire::BootstrapKind>(random() % 24), random());
    }
  }
  return out;
}

void take(Bytes input) {
  Owner owner;
  os::EventLoop loop;
  daemon::BootstrapServer server(loop, owner);
  HF_CHECK(server.open());
  auto rank = os::connect_seqpacket(server.name());
  HF_CHECK(rank.has_value());
  for (ByteReader in(input); in.left() > sizeof(std::uint16_t);) {
    std::size_t size = in.get<std::uint16_t>();
    Bytes datagram = in.get_bytes(std::min(size, in.left()));
    if (datagram.empty()) break;
    static_cast<void>(::send(rank->get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    server.drain();
  }
  HF_CHECK(owner.strangers <= 1);
}

}  // namespace hf::fuzz
