// One incarnation of a simulated rank: core/match and core/vprotocol joined as src/engine/ joins them, to a simulated network and
// to the logs in its node's memory. Files by subject, named as the engine's: process.cpp (calls of the program, determinants),
// tests.cpp, probes.cpp, collectives.cpp, send.cpp, receive.cpp, sent_again.cpp (sums of what was taken), channel.cpp (connections,
// births and deaths of peers, logs of others); optimism.cpp: what optimistic logging adds.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/match/matcher.hpp"
#include "core/match/numbers.hpp"
#include "core/vprotocol/optimist.hpp"
#include "core/vprotocol/taken_sums.hpp"
#include "sim/job/board.hpp"
#include "sim/job/checker.hpp"
#include "sim/job/memory.hpp"
#include "sim/job/pool.hpp"
#include "sim/job/program.hpp"
#include "sim/job/schedule.hpp"
#include "sim/job/timing.hpp"

namespace hf::sim::job {

class Node;
class TrafficPlan;
class World;

enum class SendMode : std::uint8_t { small, large, synchronous };

struct Message;

// Of a send, a receive or a collective of the program; valid until the call that completes it has returned.
struct Request : core::match::Posted {
  bool complete = false, is_send = false, forced = false, matched = false, cancel_asked = false;
  bool is_collective = false;
  bool numbered = false, taken = false;  // of a collective's step; its collective has the payload
  RequestNumber number{};
  Context context{};
  std::uint32_t post = 0;  // the checker's
  Payload payload;
};

struct Message : core::match::Arrived {
  Frame frame;
  enum class Where : std::uint8_t { held, in_log, at_sender } where = Where::held;
  bool in_some_log = true;  // else lost with its sender, which sends it again
  Request* receive = nullptr;
  std::uint64_t fetch = 0;  // the open question to its sender's node; 0: none
  std::uint64_t number = 0;  // of those taken from its sender
};

struct Received {
  Rank source{};
  MessageTag tag{};
  std::uint64_t value = 0;
};

class Process {
 public:
  Process(World& world, Node& node, Rank self, Incarnation incarnation, RankLog& log);
  ~Process();
  Process(const Process&) = delete;

  // ---- for programs; process.cpp
  int rank() const { return self_.value; }
  int ranks() const;
  TrafficPlan& plan();
  Request* isend(int to, int context, int tag, std::uint64_t value, SendMode mode = SendMode::small, std::uint32_t bytes = 0);
  Request* irecv(int from, int context, int tag);  // -1: from any rank; tag -1: any
  Request* icollective(Collective collective, int root, std::uint64_t value, SendMode mode);
  double time();
  void print(std::uint64_t value);  // under optimist

  class Blocked {  // what a program waits in
   public:
    explicit Blocked(Process& process) : process_(process) {}
    virtual bool ready() = 0;
    bool await_ready() { return process_.enter() && ready(); }
    void await_suspend(std::coroutine_handle<> handle) { process_.block(*this, handle); }

   protected:
    ~Blocked() = default;
    Process& process_;
  };
  class Wait final : public Blocked {
   public:
    Wait(Process& process, Request* request) : Blocked(process), request_(request) {}
    bool ready() override { return request_->complete; }
    Received await_resume() { return process_.take(request_); }

   private:
    Request* request_;
  };
  // One completion test: for one of them (any) or for all that are complete (some); waiting until there is one, or not.
  enum class TestKind : std::uint8_t { wait_any, wait_some, test_any, test_some };
  class Test final : public Blocked {
   public:
    Test(Process& process, std::vector<Request*>& requests, TestKind kind) : Blocked(process), requests_(requests), kind_(kind) {}
    bool ready() override;
    // Indices, in the order found. The requests stay to be taken.
    std::vector<std::int32_t> await_resume();

   private:
    void look();
    std::vector<Request*>& requests_;
    TestKind kind_;
    bool begun_ = false, recorded_ = false, over_ = false;
    std::vector<std::int32_t> found_;
  };
  class Compute final : public Blocked {
   public:
    Compute(Process& process, std::int64_t ns) : Blocked(process), ns_(ns) {}
    bool ready() override { return over_; }
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) { process_.compute(*this, handle, ns_); }
    void await_resume() {}
    void end() { over_ = true; }

   private:
    std::int64_t ns_;
    bool over_ = false;
  };
  struct Found {
    Rank source{};
    MessageTag tag{};
    Request* request = nullptr;  // its receive, if it was taken
  };
  class Probe final : public Blocked {
   public:
    Probe(Process& process, int from, int context, int tag, bool take)
        : Blocked(process), from_(from), context_(context), tag_(tag < 0 ? any_tag : MessageTag(tag)), take_(take) {}
    bool ready() override;
    Found await_resume();

   private:
    void post();
    int from_, context_;
    MessageTag tag_;
    bool take_, begun_ = false, forced_ = false;
    core::match::Posted posted_;
    RequestNumber number_{};
    std::uint32_t post_ = 0;
    Message* found_ = nullptr;
  };
  class Iprobe final : public Blocked {
   public:
    Iprobe(Process& process, int from, int context, int tag, bool take)
        : Blocked(process), from_(from), context_(context), tag_(tag < 0 ? any_tag : MessageTag(tag)), take_(take) {}
    bool ready() override;
    std::optional<Found> await_resume();

   private:
    int from_, context_;
    MessageTag tag_;
    bool take_, begun_ = false, over_ = false;
    std::int32_t recorded_ = -1;
    std::vector<std::int32_t> found_;
    Message* message_ = nullptr;
  };
  class Cancel final : public Blocked {
   public:
    Cancel(Process& process, Request* request) : Blocked(process), request_(request) {}
    bool ready() override;
    bool await_resume();  // true: it is withdrawn, and no more; else it is to be waited for

   private:
    Request* request_;
    core::vprotocol::Pessimist::CancelPlan plan_{};
    bool begun_ = false, over_ = false, outcome_ = false;
  };
  Probe probe(int from, int context, int tag) { return {*this, from, context, tag, false}; }
  Probe mprobe(int from, int context, int tag) { return {*this, from, context, tag, true}; }
  Iprobe iprobe(int from, int context, int tag) { return {*this, from, context, tag, false}; }
  Iprobe improbe(int from, int context, int tag) { return {*this, from, context, tag, true}; }
  Cancel cancel(Request* receive) {  // once
    receive->cancel_asked = true;
    return {*this, receive};
  }
  Wait wait(Request* request) { return {*this, request}; }
  Test test(std::vector<Request*>& requests, TestKind kind) { return {*this, requests, kind}; }
  Compute compute(std::int64_t ns) { return {*this, ns}; }
  Received take(Request* request);  // a complete one
  // What its calls have cost since it was asked last, where that is modelled: to be computed for.
  std::int64_t spent() { return std::exchange(spent_, 0); }

  // ---- for the world
  void start();
  // What happens to it now, or when it calls MPI again.
  template <class Action>
  void happen(Action&& action) {
    if (computing_ || !started_) return void(inbox_.emplace_back(std::forward<Action>(action)));
    look_at_board(false);
    if (dead_) return;
    action();
    if (optimistic_) persist_events();
    look_at_board(true);
    run_collectives();
    go();
  }
  void on_board(Rank rank);
  bool has_met(Rank rank) const { return peers_.contains(rank); }
  template <class OfRanks>
  std::vector<Rank> met_of(const OfRanks& some) const {
    std::vector<Rank> out;
    if (some.size() <= peers_.size()) {
      for (const auto& [rank, of] : some) {
        if (has_met(rank)) out.push_back(rank);
      }
      return out;
    }
    for (const auto& [rank, p] : peers_) {
      if (some.contains(rank)) out.push_back(rank);
    }
    std::ranges::sort(out);
    return out;
  }
  void on_stable_told() { look_at_stable(); }
  void on_board_changed() { look_at_board(true); }
  void on_frame(Rank from, std::uint64_t connection, const Frame& frame);
  void on_connection_closed(Rank from, std::uint64_t connection);
  struct Answer {
    bool absent = false, is_final = false;
    std::size_t published = 0;
    std::vector<Frame> records;
  };
  void on_records(Rank from, std::uint64_t question, const Answer& answer);
  void on_fetched(Rank from, std::uint64_t question, const Frame& record);
  void on_computed(Compute& compute);
  // It dies when it passes its n-th point from now on (docs/recovery.md, "Killing at a named point").
  void die_at_point(int n) { points_left_ = n; }

  Rank self() const { return self_; }
  Incarnation incarnation() const { return incarnation_; }
  Node& node() const { return node_; }
  Life& life() { return life_; }
  const Life& life() const { return life_; }
  bool replaying() const { return protocol_.replaying(); }
  std::string describe();  // what it waits for

 private:
  struct ContextPeer {
    Sequence next_send{}, next_recv{};  // next_recv: of numbered messages
    core::match::Arrivals arrivals;
    std::map<Sequence, Message*> early;
    std::map<Sequence, Request*> numbered_posted;
    std::map<Sequence, Message*> numbered_arrived;
    std::unique_ptr<core::vprotocol::TakenSums> sums;
  };
  struct ContextState {
    core::match::Matcher matcher;
    std::unordered_map<Rank, ContextPeer> peers;
  };
  struct Peer {
    Rank rank{};
    bool local = false;  // lost together with this rank
    BoardEntry known{};
    std::uint64_t connection = 0;  // 0: none
    bool open = false;             // both ways
    // to it
    std::size_t sent = 0;          // records of the own stream that were given to a connection
    std::list<Frame> queue;        // frames that are in no log. A deque takes memory for each of all peers
    std::map<MessageName, Request*> synchronous;
    std::set<MessageName> early_matched;
    // from it
    std::size_t opening = 0;
    bool feeding = false, past_taken = false, exhausted = false, asked_when_ended = false;
    Incarnation fed{};
    std::size_t cursor = 0;
    std::uint64_t question = 0;
    std::vector<Frame> waiting;
    std::map<MessageName, Message*> receiving, unfinished, unlogged;
    std::map<MessageName, Frame> again;  // taken before, and their payloads were asked for once more
    // under optimist
    std::uint64_t said = 0;               // to it, of the own vector
    core::vprotocol::IncomingDependencies incoming;
    std::uint64_t taken = 0;              // messages from it
    std::optional<Incarnation> orphaned;  // nothing more is taken from this one and those before
    struct Early {
      std::uint64_t connection = 0;
      Frame frame;
    };
    std::list<Early> early;               // frames that wait for what the board does not know yet
    bool running() const { return known.state == RankState::running; }
  };
  struct Unstable {
    std::uint64_t events = 0;
    std::uint64_t end = 0;
    TestClock last_failed{};
  };
  struct HeldSend {
    Peer* to = nullptr;
    std::size_t end = 0;
    Request* request = nullptr;
  };

  // process.cpp
  void load_past();
  bool enter();
  void block(Blocked& blocked, std::coroutine_handle<> handle);
  void compute(Compute& compute, std::coroutine_handle<> handle, std::int64_t ns);
  void go();
  void after_call();
  void persist_events();
  void store_failed();
  bool settle();
  void await_holder();
  void tell_agent();
  void look_at_stable();
  void release_held();
  bool point();  // true: it died here
  void spend(std::int64_t Costs::* each, std::uint64_t times = 1);
  void spend_on_send(std::uint32_t bytes);
  void spend_on(Bytes events);

  // collectives.cpp
  struct Call {
    Schedule schedule;
    SendMode mode;
    Request* request;
  };
  void reserve(Step& step);
  void take_number(Step& step);
  void run_collectives();
  bool run(Call& call);
  bool run_step(Call& call, Step& step);
  void send_step(Call& call, Step& step);
  void recv_step(Step& step);
  bool take_step(Schedule& schedule, Step& step);

  // probes.cpp
  Message* peek(int context, Rank source, MessageTag tag);
  void take_matched(Message& message, Request& receive, int context, RequestNumber number, std::uint32_t post);
  bool has_past_of(Rank source);
  bool holds_acknowledgement(Rank to) const;

  // optimism.cpp
  void begin_optimist();
  void look_at_board(bool second);
  void stop();
  bool know(const Frame& frame, const Peer& from) const;
  void take_dependencies(Peer& from, const Frame& frame);
  void take_early(Peer& from);
  void drop_orphans();
  void drop_orphans(Peer& from);
  void take_again(Peer& from);
  void drop(Peer& from, ContextPeer& arrivals, Message& message);
  void see(Message& message);
  void send_dependencies(Peer& to);
  void send_optimistic(Peer& to, Request& request, Frame frame);
  bool offer(std::uint64_t token);
  void release_effects();
  void pass(std::uint64_t token);
  std::uint64_t stream_end() const { return past_events_ + log_.events.size(); }

  void diverged(const char* what);

  // send.cpp
  Frame new_frame(SendMode mode, Context context, MessageTag tag, std::uint64_t value, std::uint32_t name);
  bool send_frame(Peer& to, Request& request, const Frame& frame);
  bool send_again(Peer& to, Request& request, const Frame& frame);
  void send_logged(Peer& to, Request& request, Frame frame);
  bool send_at_once(Peer& to, Request& request, const Frame& frame);
  void await_match(Peer& to, Request& request, const Frame& frame);
  void acknowledge(Peer& to, const Frame& message);
  void send_matched(Peer& to, Frame frame);
  void publish(Peer& to, std::size_t end);
  void publish_and_offer(Peer& to, bool nothing_waits);
  void transmit(Peer& to, const Frame& frame);
  void on_matched(Peer& from, const Frame& frame);
  void on_clear_to_send(Peer& from, const Frame& frame);
  void pump(Peer& to);
  Stream& stream(Peer& to) { return log_.streams[to.rank]; }

  // receive.cpp
  void on_known_frame(Peer& from, std::uint64_t connection, const Frame& frame);
  void on_logged_frame(Peer& from, const Frame& frame, bool from_log);
  void accept(Peer& from, const Frame& frame, bool from_log);
  void deliver_early(ContextState& state, ContextPeer& arrivals);
  void renew(Peer& from, Message& message, const Frame& frame, bool from_log);
  void complete(Request& receive, Message& message);
  void take_payload(Request& receive, Message& message);
  void finish(Message& message, const Payload& payload);
  void ask_for(Peer& from, const Frame& message);
  void fetch(Peer& from, Message& message);
  void lose_unfinished(Peer& from);
  void fetch_what_was_coming(Peer& from);

  // sent_again.cpp
  bool keeps_sums(const Peer& of) const;
  void on_arrived(const Peer& from, const Frame& frame);
  void on_taken_from(Peer& from, ContextPeer& arrivals, const Frame& frame);
  void on_payload_of(Peer& from, const Message& message, const Payload& payload);
  void on_duplicate(Peer& from, ContextPeer& arrivals, const Frame& frame, bool from_log);
  bool ask_again(Peer& from, const ContextPeer& arrivals, const Frame& frame, bool from_log);
  void on_data_again(Peer& from, MessageName name, const Payload& payload);
  void forget_again(Peer& from);
  void on_again_from(Peer& from, ContextPeer& arrivals, const Frame& frame, bool has_payload);
  void on_renewed(Peer& from, const Frame& before, const Frame& frame);
  void take_back(Peer& from, ContextPeer& arrivals, const Frame& frame);
  void expect_again(const Peer& from);

  // channel.cpp
  bool ensure_open(Peer& to);
  void on_opening(Peer& from, std::uint64_t connection, const Frame& frame);
  void reset_connection(Peer& peer);
  void on_place(Peer& peer, const BoardEntry& entry);
  void on_incarnation(Peer& peer, Incarnation newest);
  void feed(Peer& from);
  void end_feed(Peer& from);

  Peer& peer(Rank rank);
  ContextState& context(Context context) { return contexts_[context]; }
  Node* node_of(const Peer& peer);

  World& world_;
  Node& node_;
  Rank self_;
  Incarnation incarnation_;
  RankLog& log_;
  Life& life_;
  core::vprotocol::Pessimist protocol_;
  core::vprotocol::Optimist optimist_;
  const bool optimistic_;
  Program program_;
  Blocked* blocked_ = nullptr;
  std::coroutine_handle<> handle_;
  bool started_ = false, computing_ = false, dead_ = false, finished_ = false, handling_ = false;
  int points_left_ = 0;
  std::vector<std::function<void()>> inbox_;
  std::unordered_map<Context, ContextState> contexts_;
  std::unordered_map<Rank, Peer> peers_;
  Pool<Request> requests_;
  Pool<Message> messages_;
  std::list<Call> calls_;  // of collectives, that are not complete
  bool runs_collectives_ = false;
  std::uint64_t questions_ = 0;
  std::unordered_map<std::uint64_t, Message*> fetches_;
  std::map<std::uint64_t, std::pair<Rank, MessageName>> fetches_again_;
  std::uint64_t past_events_ = 0;
  std::deque<Unstable> unstable_;
  std::uint64_t asked_ = 0;  // the agent was told of events up to this one
  std::deque<HeldSend> held_;
  bool restarted_ = false;
  std::int64_t spent_ = 0;
  // under optimist: what of the board was looked at, what waits until the vector is stable
  std::size_t cuts_seen_ = 0;
  std::uint64_t stable_seen_ = 0, tokens_ = 0;
  std::set<Rank> noted_;   // peers whose messages may depend on something and may not be matched yet: all others have none
  std::set<Rank> halted_;  // peers of which something may wait for a cut, or was not asked for yet: to be looked at after the next one
  struct Effect {
    Peer* to = nullptr;  // an acknowledgement; else output, or the end
    Frame frame;
    Checker::Output output;
    bool is_end = false;
  };
  std::map<std::uint64_t, Effect> effects_;
  bool ending_ = false;
  std::map<std::pair<Rank, std::pair<bool, MessageName>>, const Frame*> sent_before_;
};

}  // namespace hf::sim::job
