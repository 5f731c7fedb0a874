// What agents say to each other about determinants, by one that has proved itself and then says anything: to the agent that holds
// them, to the one whose ranks they are, and to the one that takes ranks over.
#include "daemon/event_keeper.hpp"
#include "base/check.hpp"
#include "fuzz.hpp"
#include "os/clock.hpp"

namespace hf::fuzz {
namespace {

using daemon::ControlKind;
constexpr int ranks = 4;
constexpr std::uint64_t memory_bytes = 1 << 16;

struct Owner : daemon::EventKeeper::Owner {
  using Extent = daemon::EventKeeper::Extent;
  Extent written(Rank) override { return {64, TestClock{3}}; }
  bool read_events(Rank, std::uint64_t position, MutableBytes out) override {
    HF_CHECK(position + out.size() <= 64);
    return true;
  }
  void on_stable(Rank rank, const Extent& extent) override { HF_CHECK(rank.value < ranks && written(rank).covers(extent)); }
  void on_held(Generation) override {}
  void on_holder_lost(Generation, bool, const std::string&) override {}
  void on_fenced(Rank rank) override { HF_CHECK(rank.value < ranks); }
  void on_damaged(Rank) override { HF_CHECK(false); }
  void on_disk_failed(const std::string&) override { HF_CHECK(false); }
  int first_host(Rank) override { return 0; }
  void on_carriable(int) override {}
  Extent carried(Rank) override { return {}; }
  std::vector<segment::CarriedEvents::Piece> fence(Rank, Term, Term) override { return {}; }
  bool on_known(Rank rank, Term term, std::uint64_t position) override {
    return rank.value >= 0 && rank.value < ranks && term.value <= UINT16_MAX && position >> wire::board_position_bits == 0;
  }
  void on_news() override {}
  void on_looked_at(Rank, bool) override {}
  void on_busy() override {}
  const core::vprotocol::Cuts& cuts(Rank rank) override {
    static const core::vprotocol::Cuts none;
    HF_CHECK(rank.value < ranks);
    return none;
  }
  void trim(Rank rank, core::event_logger::Found& found) override {
    HF_CHECK(rank.value < ranks);
    core::event_logger::keep(found, 48);
  }
};

struct Frame {
  ControlKind kind{};
  Bytes body;
};

// Frames behind their kind and length.
std::vector<Frame> frames_of(Bytes input) {
  std::vector<Frame> out;
  for (ByteReader in(input); in.left() > 2 * sizeof(std::uint16_t);) {
    auto kind = static_cast<ControlKind>(in.get<std::uint16_t>());
    std::size_t size = in.get<std::uint16_t>();
    out.push_back({kind, in.get_bytes(std::min(size, in.left()))});
  }
  return out;
}

template <class T>
void put(Octets& out, ControlKind kind, const T& body, std::size_t more = 0) {
  ByteWriter writer(out);
  writer.put(static_cast<std::uint16_t>(kind));
  writer.put(static_cast<std::uint16_t>(sizeof body + more));
  writer.put(body);
  out.resize(out.size() + more);
}

void put_cuts(Octets& out, const daemon::EventsName& hosting, Random& random) {
  core::vprotocol::Cuts cuts;
  for (std::uint32_t term = 1; term < 4; ++term) cuts.add(Term{term}, random() % 65);
  Octets encoded;
  cuts.encode(encoded);
  put(out, ControlKind::events_cuts, hosting, encoded.size());
  std::ranges::copy(encoded, out.end() - static_cast<std::ptrdiff_t>(encoded.size()));
}

}  // namespace

Octets sample(Random& random) {
  Octets out;
  auto small = [&](std::uint64_t below) { return static_cast<std::uint32_t>(random() % below); };
  for (std::uint64_t n = random() % 10; n > 0; --n) {
    const auto rank = static_cast<std::int32_t>(small(ranks));
    switch (random() % 8) {
      case 0: put(out, ControlKind::events_append, daemon::EventsAppend{rank, small(3), small(3), 0, small(65), small(65), small(4), small(4)}, small(64)); break;
      case 1: put(out, ControlKind::events_open, daemon::EventsName{rank, small(4)}); break;
      case 2: put(out, ControlKind::events_stable, daemon::EventsStable{rank, 0, small(65), small(4)}); break;
      case 3: {
        const std::uint64_t total = small(3) * 32;
        put(out, ControlKind::events_content, daemon::EventsContent{rank, 1, 0, 1, small(3), 0, small(65), small(4), 0, 0, total}, total);
        break;
      }
      case 5: put_cuts(out, daemon::EventsName{rank, small(4)}, random); break;
      case 6: put(out, ControlKind::events_known, daemon::EventsKnown{rank, small(3), small(65)}); break;
      case 4: put(out, ControlKind::events_refused, daemon::EventsName{rank, small(4)}); break;
      default: put(out, ControlKind::events_full, std::uint8_t{});
    }
  }
  return out;
}

void take(Bytes input, bool optimist, int copies) {
  const std::vector<Frame> frames = frames_of(input);
  const std::uint32_t loopback = os::loopback_address();
  const daemon::JobKey key{};
  os::EventLoop loop;
  // The wild one is agent 1: it visits, and is visited, as holder and by who takes ranks over.
  std::vector<daemon::ChannelPtr> guests;
  auto say_all = [&](daemon::ControlChannel& channel) {
    for (const Frame& frame : frames) channel.send_bytes(frame.kind, frame.body);
  };
  daemon::ControlDoor door(
      loop, key,
      [&](const daemon::Visitor&, daemon::ChannelPtr channel) {
        channel->set_handlers([](ControlKind, Bytes) {}, [] {});
        say_all(*channel);
        guests.push_back(std::move(channel));
      },
      [] { HF_CHECK(false); });
  HF_CHECK(door.open(loopback));
  Owner owner;
  daemon::EventKeeper keeper(loop, key, NodeId(0), {memory_bytes, optimist, copies}, owner);
  daemon::ControlDoor own_door(
      loop, key, [&](const daemon::Visitor& visitor, daemon::ChannelPtr channel) { keeper.on_guest(visitor.node.value, std::move(channel)); },
      [] { HF_CHECK(false); });
  HF_CHECK(own_door.open(loopback));
  keeper.set_address(1, {loopback, door.port()});
  for (int rank = 0; rank < ranks / 2; ++rank) keeper.add_rank(Rank{rank}, Term{0}, {});
  for (int copy = 0; copy < copies; ++copy) keeper.set_holder(copy, 1, Generation{1}, -1);
  bool found = false;
  keeper.fetch({{Rank{2}, Term{1}}, {Rank{3}, Term{1}}}, {1}, [&](auto) { HF_CHECK(!std::exchange(found, true)); });
  daemon::ControlVisit visit(loop, key, NodeId(1), daemon::Purpose::events, daemon::Address{loopback, own_door.port()},
                             {[&] { say_all(visit.channel()); }, [](ControlKind, Bytes) {}, [] {}});
  loop.at(os::later(os::now(), 2 * os::millisecond_ns), [&] { loop.stop(); });
  loop.run();
}

void take(Bytes input) {
  for (bool optimist : {false, true}) {
    for (int copies : {1, 2}) take(input, optimist, copies);
  }
}

}  // namespace hf::fuzz
