// Inside of the TCP rail: its connections and their states. tcp_rail.cpp has what the caller does and the frames,
// greeting.cpp has dials, handshakes and who wins.
#pragma once
#include <sys/epoll.h>

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rail/tcp/inflow.hpp"
#include "rail/tcp/stream.hpp"
#include "rail/tcp/tcp_rail.hpp"

namespace hf::rail::tcp {

struct Connection {
  enum class State {
    greeting,  // being connected, or in the handshake
    yielded,   // our dial was told to wait for the peer's: no descriptor any more
    incoming,  // authenticated, waits for accept()
    open,
    gone,      // closed; the object waits in the graveyard until no ready list can name it
  };
  explicit Connection(int fd) : stream(fd) {}
  State state = State::greeting;
  bool dialled = false;
  bool connected = false;       // dialled: TCP itself is connected
  bool wants_output = false;    // EPOLLOUT is armed
  Rank peer{-1};                // accepted: -1 until authenticated
  Incarnation incarnation{};    // of the peer
  Endpoint endpoint;
  std::int64_t deadline_ns = 0;  // of the handshake
  std::optional<Handshake> handshake;
  wire::Opening theirs;
  Stream stream;
  Inflow inflow;
  // The frame at the head of the input, when its payload is large.
  bool head_told = false;          // its `head` was given
  bool placing = false;            // its header is consumed, its payload goes to `target`
  bool unplaced = false;           // or nowhere
  wire::FrameHeader header;        // placing
  MutableBytes target;             // placing: what is still to be filled; its size counts when unplaced too
  bool large = false;              // the last frame was: little is read ahead
};

class TcpRail::Impl {
 public:
  explicit Impl(const Options& options) : options_(options), peers_(static_cast<std::size_t>(options.rank_count)) {}
  ~Impl();
  Result<> start();

  // At most one of each: of the pair's dials the loser is dropped before `live` is set.
  struct PeerState {
    Incarnation newest{};
    std::uint64_t last_dial = 0;   // of that incarnation: dials up to it are void or were taken
    Connection* dial = nullptr;    // ours: greeting or yielded
    Connection* live = nullptr;    // incoming or open
    bool held = false;             // its connections are not in the epoll set
  };

  // ---- tcp_rail.cpp
  bool poll(Event& event);
  bool send(Rank peer, const wire::FrameHeader& header, std::span<const Bytes> pieces, std::span<const Bytes> lasting, Bytes before);
  void flush();
  void place(Rank peer, MutableBytes target);
  void unplace(Rank peer);
  std::uint64_t bytes_arrived() const { return bytes_arrived_; }
  PeerState& peer(Rank rank);
  const Options& options() const { return options_; }
  std::uint16_t port() const { return port_; }
  int descriptor() const { return epoll_; }

  // ---- greeting.cpp
  void connect(const Peer& to, std::uint64_t position);
  bool accept(Rank rank, std::uint64_t position);
  void refuse(Rank rank);
  void learn(Rank rank, Incarnation newest, bool tell);
  void forget(Rank rank);
  void hold(Rank rank, bool on);

 private:
  enum class Tell { yes, no };

  // ---- tcp_rail.cpp
  bool take_event(Event& event);
  bool take_frame(Event& event);
  void release_view();
  bool next_ready();
  void look();
  void read(Connection& c);
  void read_hot(Connection& c);
  void write(Connection& c);
  void arm(Connection& c, bool output);
  void watch(Connection& c, int operation);
  bool held(const Connection& c) { return c.peer.value >= 0 && peer(c.peer).held; }
  bool take_placed(Connection& c, Event& event);
  bool has_news(const Connection& c) const;
  bool is_head(const Connection& c, std::uint64_t payload, std::size_t have) const;
  std::size_t missing(const Connection& c) const;
  Stream::Io receive(Connection& c);
  void violation(Connection& c, const wire::FrameHeader& header);
  void announce(Event::Kind kind, const Connection& c, std::string reason = {}, bool established = false);
  void wake();  // makes descriptor() readable: there are events that no socket tells of

  // ---- greeting.cpp
  Connection* add(int fd);
  void drop(Connection& c, Tell tell, std::string reason);
  bool withdraw_incoming(Rank peer);  // false: it was taken already
  void on_listener();
  void on_timer();
  void on_handshake(Connection& c);
  void on_proven(Connection& c);
  void on_answer(Connection& c);
  Verdict judge(const Introduction& introduction);
  void report_stranger(const Connection& c);
  void listen(bool on);
  void arm_timer();
  bool make_open(Connection& c);

  Options options_;
  std::vector<PeerState> peers_;
  std::vector<std::unique_ptr<Connection>> connections_, graveyard_;
  int listener_ = -1, epoll_ = -1, timer_ = -1;
  std::uint16_t port_ = 0;
  bool listening_ = false;
  int half_open_ = 0;  // accepted and not authenticated
  std::uint64_t dials_ = 0;
  std::set<std::uint32_t> strangers_;  // addresses reported, at most strangers_max

  struct Pending {
    Event event;
    std::string reason;
  };
  std::deque<Pending> events_;
  std::vector<Bytes> all_pieces_;  // scratch of send
  std::vector<std::byte> heads_;   // scratch of send
  std::string reason_;  // of the event last given

  std::array<epoll_event, 64> ready_{};
  int ready_count_ = 0, ready_at_ = 0;
  std::uint32_t looks_ = 0;
  bool looked_ = false;  // since poll() gave false last
  int open_ = 0;         // connections that are open
  Connection* hot_ = nullptr;      // gave data last: looked at without epoll while it is the only one
  Connection* current_ = nullptr;  // the only one that may have a whole frame in its buffer
  Connection* viewed_ = nullptr;   // whose frame was given out last
  std::size_t viewed_bytes_ = 0;
  std::uint64_t bytes_arrived_ = 0;
  PageBuffer nowhere_;             // where unplaced payloads go
};

}  // namespace hf::rail::tcp
