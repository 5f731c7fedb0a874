// The engine behind engine.hpp. One class, whose parts stand in files by subject: join.cpp (start), short_way.cpp (what nearly
// every small message goes), send.cpp, direct.cpp, gathered_reads.cpp, joint_copy.cpp (large ones inside a node), unasked.cpp (over a network, before anybody asks), receive.cpp, channel.cpp (rails),
// feed.cpp (logs of others), board.cpp (births and deaths), stability.cpp (what may leave), carry.cpp (and with what), optimist.cpp (what depends on what), recorded.cpp (events of the C library),
// replay.cpp (determinants and the own past), how_far.cpp (how far it had come), sent_again.cpp (the past of others), wait.cpp (progress and sleep).
#pragma once
#include <atomic>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock_pace.hpp"
#include "core/vprotocol/optimist.hpp"
#include "engine/agent_link.hpp"
#include "engine/contexts.hpp"
#include "engine/crowd.hpp"
#include "engine/engine.hpp"
#include "engine/log_ahead.hpp"
#include "engine/peer.hpp"
#include "engine/remote_log.hpp"
#include "engine/sent_before.hpp"
#include "rail/tcp/tcp_rail.hpp"
#include "segment/carried_events.hpp"
#include "segment/joint_copy.hpp"
#include "segment/log_writer.hpp"
#include "wire/points.hpp"
#include "wire/recorder.hpp"

namespace hf::engine {

using core::vprotocol::Pessimist;
using wire::FrameHeader;
using wire::FrameKind;

// The payload of a frame: of the program's buffer when `source` is set, else of a record of the own log.
struct Payload {
  const Source* source = nullptr;
  const segment::Record* record = nullptr;
  std::uint64_t begin = 0;  // where the frame's payload begins in the message
  const wire::Exposed* exposed = nullptr;  // it is this
};

inline void fill_from(const Source& source, std::uint64_t offset, MutableBytes out) {
  if (source.data) std::memcpy(out.data(), source.data + offset, out.size());
  else if (!out.empty()) source.pack(source.self, offset, out);
}

// Puts received bytes where the program wants them: at most the sink's capacity.
inline void put(const Sink& sink, std::uint64_t offset, Bytes in) {
  if (offset >= sink.capacity || in.empty()) return;
  in = in.first(std::min<std::size_t>(in.size(), sink.capacity - offset));
  if (sink.data) copy_short(sink.data + offset, in.data(), in.size());
  else sink.unpack(sink.self, offset, in);
}

inline constexpr std::uint64_t ahead_bytes_min = 4 << 10;    // over a network, a payload from here on is sent first and logged then
inline constexpr std::uint64_t tcp_piece_bytes = 512 << 10;  // small messages wait for no more than this

// What the board says now (Protocol optimist).
class BoardStable final : public core::vprotocol::Stable {
 public:
  explicit BoardStable(const AgentLink& agent) : agent_(agent) {}
  bool covers(const core::vprotocol::Dependency& event) const override;

 private:
  const AgentLink& agent_;
};

class EngineImpl {
 public:
  EngineImpl() = default;

  // join.cpp
  Result<> join();
  void finalize();
  Result<> join_again();
  std::vector<Reached> reached();  // covered.cpp
  void cover(std::span<const Reached> checkpoint);
  void look_at_call();
  std::uint64_t next_look(std::uint64_t call) const;
  void declare_unprotected(std::string_view function);
  [[noreturn]] void abort(int exit_code, std::string_view reason);

  // send.cpp
  void send_next(SendOperation& op);  // with the next number of its context and destination
  void send(SendOperation& op) {
    if (!send_at_once(op)) send_long_way(op);
  }
  void withdraw(SendOperation& op);
  void pump(Peer& peer);

  // receive.cpp
  void post(RecvOperation& op);
  void open_context(Context context);
  void close_context(Context context);
  void post_numbered(RecvOperation& op) { post_numbered(*contexts.find(op.context), op); }
  void post_next_numbered(RecvOperation& op);
  void accept(Peer& from, const FrameHeader& header, Bytes payload, const segment::Record* record, PeerLog* log);
  void recv_matched(RecvOperation& op, Message& message);
  bool cancel(RecvOperation& op);
  void complete_unmatched(SendOperation& op);
  void await_acknowledged(Rank source);
  void await_past(Peer& from);
  Message* look(Context context, Rank source, MessageTag tag);

  // recorded.cpp
  void order_threads(bool may_give_up, bool (*several)(void* self), void* self);
  void leave_threads_unordered();
  int go_out() { return threads_ordered && !in_rails_ ? recorder->go_out() : 0; }

  // replay.cpp
  Message* probe_wait(Context context, Rank source, MessageTag tag, bool take);
  Message* probe_test(Context context, Rank source, MessageTag tag, bool take);
  Engine::TestPlan begin_test();
  void end_test(std::span<const std::int32_t> completed);
  double wtime();
  double system_wtime();
  double time_of_another_thread();
  std::vector<std::byte> logged_events();
  void after_call();  // released receives, caught-up report

  // stability.cpp
  void persist_events() {
    if (protocol.has_events()) store_events();
  }

  // wait.cpp
  void note(std::string_view text);
  void progress();
  void look_while_testing();
  void progress_rails();  // without schedules
  void wait(bool (*done)(void*), Rank (*whom)(void*), void* self);
  void wait_for(const bool& complete, const Rank& peer);
  template <class Done>
  void wait_on(Rank whom, Done& done) {
    struct Both {
      Done& done;
      Rank whom;
    } both{done, whom};
    wait([](void* b) -> bool { return static_cast<Both*>(b)->done(); }, [](void* b) { return static_cast<Both*>(b)->whom; }, &both);
  }
  template <class Done>
  void wait_for_probed(Rank source, Done& done) {
    probes_ = true;
    wait_on(source, done);
    probes_ = false;
  }

  JobMap job;
  std::unique_ptr<AgentLink> agent;  // null: a job of one rank without a launcher
  bool restarted = false;
  bool in_world = false;  // MPI_Init was called: nobody leaves MPI_Finalize before all are in it
  CallCounter calls;
  bool waits = false;  // a thread is in wait()
  std::uint64_t kill_at_call = 0;
  std::uint64_t drops_every_ = 0;  // calls; 0: never
  bool covers_ = false;
  std::uint64_t creations = 0;
  Incarnation incarnation{};
  std::vector<std::byte> private_control;  // without an agent
  segment::ControlView control;
  Contexts contexts{1};
  Pessimist protocol;
  const wire::RecorderLink* recorder = nullptr;  // null: the C library is not recorded
  bool threads_ordered = false;                  // there are several, and others may wait for what this one holds during a call
  std::vector<Progressable*> schedules;
  std::vector<std::unique_ptr<Peer>> peers;  // by job-wide rank

 private:
  // join.cpp
  Result<> join_agent(std::string_view socket_name);
  void count_calls();
  Result<> load_past();
  std::uint32_t own_log_base() const;

  // short_way.cpp
  bool send_at_once(SendOperation& op);
  bool send_across_chunks(Peer& to, SendOperation& op);
  template <class Append>
  void leave_at_once(Peer& to, SendOperation& op, FrameHeader& header, Append&& append);
  bool take_at_once(Peer& from, const rail::shm::RingFrame& frame);

  // send.cpp
  // Inline, so that the short way keeps it in registers.
  FrameHeader header_of(const SendOperation& op) const {
    FrameHeader h;
    h.kind = FrameKind::eager;
    h.flags = (op.numbered ? wire::flag_numbered : 0) | (op.mode == SendMode::synchronous ? wire::flag_synchronous : 0);
    h.incarnation = incarnation.value;
    h.source = job.self.value;
    h.tag = op.tag.value;
    h.context = op.context.value;
    h.sequence = op.sequence.value;
    h.length = op.source.bytes;
    return h;
  }
  void send_long_way(SendOperation& op);
  bool send_again(Peer& peer, SendOperation& op, const FrameHeader& header);
  void send_logged(Peer& peer, SendOperation& op, FrameHeader header);
  void send_unlogged(Peer& peer, SendOperation& op, const FrameHeader& header);
  void send_to_self(SendOperation& op, const FrameHeader& header);
  void acknowledge(Peer& peer, const FrameHeader& message);
  void send_acknowledgement(Peer& peer, FrameHeader header);
  void send_control(Peer& peer, const FrameHeader& header);
  void pump_log(Peer& peer);
  void offer_backlog(Peer& to);
  void pump_queue(Peer& peer);
  bool offer_queued(Peer& peer, QueuedFrame& frame);
  void pump_transfers(Peer& peer);
  Transfer transfer_of(const FrameHeader& message) const;
  bool offer_piece(Peer& peer, Transfer& transfer, const Source* source);
  void start_transfer(Peer& peer, const FrameHeader& request);
  bool offer_record(Peer& peer, const segment::Record& record, const Source* source, std::uint8_t flags = 0);
  segment::LogReader own_reader(Rank to) {
    return segment::LogReader(*log_, control.stream(to.value), static_cast<std::uint32_t>(to.value), job.rank_count);
  }
  void await_match(Peer& peer, SendOperation& op);
  bool must_wait(Peer& to, SendOperation& op, FrameKind kind);
  bool awaits_match(const Peer& peer, const SendOperation& op) const;
  void complete_unless_awaited(const Peer& peer, SendOperation& op) const;
  void finish_transfer(Peer& peer, const Transfer& transfer);

  // direct.cpp
  void publish_memory();
  bool may_expose(const Peer& to, const SendOperation& op) const {
    return to.local && op.source.bytes > eager_bytes_max(to) && op.source.bytes >= direct_from_ && op.source.data;
  }
  void send_exposed(Peer& peer, SendOperation& op, FrameHeader header);
  void await_reader(Peer& peer, const SendOperation& op);
  bool read_whole(Peer& peer, Message& message);
  void tell_reading(Peer& peer, std::uint64_t ticket);
  bool can_read(Peer& peer);
  bool can_read(Peer& peer, const Message& message);
  static constexpr std::uint64_t piece_bytes = 256 << 10;  // read between two looks at the ticket: lost when it was taken back
  bool read_piece(Peer& peer, Message& message, std::uint64_t bytes_max);
  bool prefers_ring(const Peer& peer, const Message& message) const;
  // Behind the frame that is being handled. Its sender's death may have been heard meanwhile.
  bool more_waits(const Peer& from) const { return from.in.open && from.in.ring.has_more(); }
  void read_exposed(Message& message);
  void read_alone(Peer& peer, Message& message);
  void end_reading(Peer& peer, Message& message);
  static bool stands(const Peer& peer, const Message& message);
  void read_elsewhere(Message& message);
  bool is_published(Peer& peer, const Message& message);
  void look_for_logged(Peer& peer);
  void forget_unlogged(Peer& peer, Message& message);

  // joint_copy.cpp
  bool may_share_copy(Peer& peer, const Message& message);
  bool copy_jointly(Peer& peer, Message& message);
  bool read_claimed(Peer& peer, Message& message, segment::JointReader& reader, std::uint64_t piece);
  bool await_writer(const Peer& peer, const segment::JointReader& reader) const;
  void look_for_offer(Peer& to) {
    if (!to.out.rendezvous.empty() && to.newest_log) help(to);
  }
  void help(Peer& to);
  bool may_write(Peer& to, const segment::JointWriter& writer);

  // gathered_reads.cpp
  bool may_gather(const Peer& peer, const Message& message) const;
  void gather(Peer& peer, Message& message);
  void read_gathered(Peer& peer);
  bool read_at_once(Peer& peer, std::span<Message* const> messages);

  // bound.cpp
  bool reserve(Peer& peer, std::uint64_t payload_bytes);
  bool log_has_room(std::uint64_t payload_bytes) const;
  bool reserve_acknowledgement(Peer& peer);
  void make_room();
  MutableBytes new_log_segment();
  bool is_awaited(const Peer& p) const;
  bool waits_for_other_nodes_alone() const;
  Peer* largest_stream();
  std::uint64_t logged_for(Rank receiver) const;
  void publish_log_done(Peer& peer);
  // covered.cpp
  std::optional<std::uint64_t> first_needed(Peer& from);
  void tell_log_done(Peer& from, std::uint64_t word);
  std::uint64_t log_done_of(const Peer& to) const;
  void drop_covered();
  void pretend_checkpoints();
  bool needs_stream(Peer& peer);
  void release_stream(Peer& peer);
  void discard_unlogged(Peer& peer);
  void on_matched(Peer& peer, MessageName name);
  bool has_credit(Peer& peer, std::uint64_t bytes) const;
  bool awaits_credit(Peer& peer) const;
  bool holds_unsent(const Peer& to) const { return job.logging && to.out.open && to.out.sent != log_->published(to.rank.value); }

  // channel.cpp
  bool ensure_open(Peer& peer) { return peer.out.open || open_channel(peer); }
  bool open_channel(Peer& peer);
  bool attach(Peer& peer);
  bool offer(Peer& peer, const FrameHeader& header, const Payload& payload);
  bool offer_ring(Peer& peer, const FrameHeader& header, const Payload& payload);
  void fill(Rank to, const Payload& payload, std::uint64_t offset, MutableBytes out);
  void wake(Peer& to) {
    if (!to.newest_log) return;  // not mapped, or on another node
    // What was stored for the peer must not move below this load: the sleeper's barrier orders the processors, not the
    // compiler.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (segment::load_relaxed(to.newest_log->control().header().sleeping) != segment::Sleeping::no) ring_doorbell(to);
  }
  void ring_doorbell(Peer& peer);
  void poll_ring(Peer& peer);
  bool has_awaited(const Peer& from) const;
  void release_credit(Peer& peer, std::uint64_t bytes);
  void publish_credit(Peer& peer);
  std::uint64_t eager_bytes_max(const Peer& to) const { return to.local ? rail::shm::ring_payload_max : eager_bytes_; }
  std::uint64_t announced_above(const Peer& to) const { return to.local ? rail::shm::ring_payload_max : announced_above_; }
  std::uint64_t data_piece_bytes(const Peer& peer) const;
  std::uint64_t payload_bytes_max(const Peer& from, FrameKind kind) const {
    if (kind == FrameKind::events) return segment::CarriedEvents::capacity;
    if (kind == FrameKind::dependencies) return wire::dependencies_bytes_max;
    return kind == FrameKind::data ? data_piece_bytes(from) : eager_bytes_max(from);
  }

  // remote.cpp
  Result<> open_rail();
  void look_up(Peer& peer);
  void look_up_awaited();
  void dial(Peer& to);
  bool offer_rail(Peer& to, const FrameHeader& header, const Payload& payload);
  bool leaves_ahead(const Peer& to, const SendOperation& op) const {
    return !to.local && op.source.data && op.source.bytes >= ahead_bytes_min;
  }
  void send_ahead(Peer& peer, SendOperation& op, const FrameHeader& header, bool open);
  void poll_rail();
  void on_incoming(Peer& from, const rail::tcp::Event& event);
  void on_opened(Peer& from, const wire::Opening& opening);
  void on_closed(Peer& from, const rail::tcp::Event& event);
  void complete_taken(Peer& to);
  void tell_credit(Peer& to, std::uint64_t taken_before = 0, std::uint8_t flags = 0);
  void check_lost(Peer& peer);
  bool borrowed(const Peer& to) const { return !to.local && rail_->borrows(to.rank); }
  void on_rail_frame(Peer& from, const FrameHeader& header, Bytes payload);
  void on_head(Peer& from, const FrameHeader& header);
  MutableBytes place_data(Peer& from, const FrameHeader& header);
  MutableBytes place_eager(Peer& from, const FrameHeader& header);
  void on_placed(Peer& from, const FrameHeader& header);

  // unasked.cpp
  static constexpr std::uint64_t unasked_credits = 16;  // nothing is held for it: it bounds what is sent in vain
  std::uint64_t unasked_bytes(std::uint64_t length) const { return std::min(length, unasked_credits * credit_bytes_); }
  bool could_follow(const Peer& to, FrameKind kind, const Source& source) const;
  Transfer unasked_transfer(Peer& to, const FrameHeader& announced);
  void send_following(Peer& to, const FrameHeader& announced, const segment::Record& record, const Source& source, LogAhead& log);
  void follow_unlogged(Peer& to, const FrameHeader& announced, SendOperation& op);
  void on_asked_anyway(Peer& to, const FrameHeader& request);
  void on_followed(Peer& from, FrameHeader announced);
  bool take_following(Peer& from, Message& message);

  // remote_feed.cpp
  void open_remote_logs();
  RemoteStream stream_of(const Peer& from, Incarnation wanted) const;
  void feed_remote(Peer& peer);
  void end_remote_feed(Peer& peer);
  void poll_remote_logs();
  void next_incarnation(Peer& from);
  void cancel_question(Peer& from);
  void on_records(Peer& from, const RemoteAnswer& answer);
  bool take_remote_record(Peer& from, const RemoteRecord& record);
  void fetch(Message& message);
  void give_up_fetch(const Message& message);
  void fetch_what_was_coming(Peer& from);
  void on_fetched(const RemoteAnswer& answer);

  // receive.cpp
  void post_numbered(ContextState& state, RecvOperation& op);
  void on_frame(Peer& from, const FrameHeader& header, Bytes payload);
  void on_logged_frame(Peer& from, const FrameHeader& header, Bytes payload);
  void on_data(Peer& from, const FrameHeader& header, Bytes payload);
  void on_piece(Peer& from, std::map<MessageName, Message*>::iterator receiving);
  void renew(Peer& from, Message& message, const FrameHeader& header, Bytes payload, const segment::Record* record,
             PeerLog* log);
  Message* envelope(Peer& from, const FrameHeader& header, Bytes payload, const segment::Record* record, PeerLog* log);
  void own(Peer& from, Message& message);
  void unhold(const Message& message);
  void keep_early(ContextPeer& arrivals, Sequence number, Message& message);
  void deliver_early(ContextState& state, ContextPeer& arrivals);
  void on_taken(Rank source, const FrameHeader& header, SendOperation* self_synchronous);
  void take(Context context, Message& message);
  void on_match(RecvOperation& op, Rank source, const FrameHeader& header);
  void receive_now(RecvOperation& op, Peer& from, const FrameHeader& header, Bytes payload);
  void count_received(std::uint64_t bytes) {
    ++counters().messages_received;
    counters().bytes_received += bytes;
  }
  void count_sent(std::uint64_t bytes) {
    ++counters().messages_sent;
    counters().bytes_sent += bytes;
  }
  void count_logged(std::uint64_t bytes) {
    ++counters().messages_logged;
    counters().bytes_logged += bytes;
  }
  void classify(Peer& from, Message& message, Bytes payload, const segment::Record* record, PeerLog* log);
  void copy_from_log(RecvOperation& op, Message& message);
  void request_payload(Message& message);
  void decline(Peer& from, const FrameHeader& header);
  void ask_for(Peer& from, const FrameHeader& header, std::uint64_t begin, std::uint64_t end);
  void complete(RecvOperation& op, Message& message);
  void take_payload(RecvOperation& op, Message& message);
  void finish(RecvOperation& op, Message& message);
  void drop(Message& message);

  // sent_again.cpp
  // Ranks that are here together are lost together.
  bool keeps_sums(const Peer& of) const { return node_level_ && !of.local; }
  void on_taken_from(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload);
  void on_payload_of(const Message& message);
  void on_duplicate(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload);
  bool ask_again(Peer& from, const ContextPeer& arrivals, const FrameHeader& header);
  void on_data_again(Peer& from, MessageName name, std::uint64_t offset, Bytes payload);
  void on_fetched_again(const RemoteAnswer& answer);
  void forget_again(Peer& from);
  void on_again_from(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload);
  void on_renewed(Peer& from, const FrameHeader& before, const FrameHeader& header, const Bytes* payload);
  void take_back(Peer& from, ContextPeer& arrivals, const Message& message);
  void expect_again(Peer& from);
  void sent_otherwise(Peer& from, bool fatal, std::string_view text);

  // feed.cpp
  void feed(Peer& peer);
  bool feed_incarnation(Peer& peer);
  [[noreturn]] void end_for_log(const Peer& of, bool dropped);
  bool take_logged_dependencies(Peer& from, PeerLog& log, const segment::Record& record);
  PeerLog* log_of(Peer& peer, Incarnation incarnation);
  PeerLog* newest_log(Peer& peer);
  PeerLog* sender_log(Peer& peer, const FrameHeader& header, segment::Record& record);

  // board.cpp
  void check_board();
  void take_log_address(Peer& peer, const wire::BoardEntry& entry);
  void on_cut(Peer& peer, const wire::BoardEntry& entry);
  void on_place(Peer& peer, const wire::BoardEntry& entry, Incarnation newest);
  std::vector<Message*> unfinished(Peer& peer);
  void lose_unfinished(Peer& peer);
  void on_incarnation(Peer& peer, Incarnation incarnation);
  void on_state(Peer& peer, wire::RankState state);
  void reset_outgoing(Peer& peer);
  void reset_channel_out(Peer& peer);
  void reset_incoming(Peer& peer);

  // stability.cpp
  void store_events();
  bool settle();
  bool is_settled();
  void await_holder();
  void want_stable();
  void tell_agent();
  void look_at_stable();
  void hold(Peer& to, SendOperation* op);
  void release_held();
  void take_over_past(std::uint64_t past_bytes, TestClock past_failed);

  // carry.cpp
  void keep_recent(Bytes events);
  bool holds_events(const Peer& to) const;
  bool carry(Peer& to);
  bool offer_carrying(Peer& to, SendOperation& op, const segment::Record& record, std::uint8_t flags = 0);
  void publish_carrying(Peer& to);
  bool send_carrying(Peer& to, SendOperation& op, const segment::Record& record);
  void on_events(Peer& from, const FrameHeader& header, Bytes payload);

  // optimist.cpp
  void begin_optimist(Bytes past);
  void load_cuts(core::vprotocol::CutTable& cuts);
  void on_events_stored();
  void tell_own_events();
  void hurry_own_events();
  void write_all();
  void tell_dependencies(Peer& to);
  bool depends_on_nothing();
  bool is_independent();
  void send_dependencies(Peer& to, std::span<const core::vprotocol::Dependency> list);
  void carry_dependencies(const segment::Record& record, Bytes list);
  bool has_offered_all(const Peer& to) const;
  void end_carrying();
  void look_at_dependencies();
  bool may_acknowledge(Peer& to, const FrameHeader& header);
  void acknowledge_stable();
  void see(Peer& from, std::uint64_t number);
  bool take_dependencies(Peer& from, Incarnation sender, Bytes payload);
  void refuse(Peer& from, Incarnation sender);
  void take_again(Peer& from);
  void look_at_cuts();
  void look_whether_orphan();
  void take_out(Peer& from, std::uint64_t first, Incarnation sender);
  void take_out(Peer& from, std::uint64_t first, ContextState& state);
  [[noreturn]] void end_as_orphan();

  // recorded.cpp
  void begin_recording();
  void say_unrecorded();
  Result<> attach_recorder();
  void store_libc_event(Bytes event);
  void await_stable();
  void flush_clock_reads() {
    if (recorder) recorder->flush();
  }

  // replay.cpp
  void released_matches();
  void report_caught_up();
  void tell_recorder();
  bool tell_recorder(wire::ReplayEnd end);
  void tell_recorder_as_peers_know();
  void keep_out_of_sight();
  bool is_behind() const;
  [[noreturn]] void diverged(std::string text);
  [[noreturn]] void diverged_source(Rank now, Rank recorded);
  void report_divergence(std::string text);

  // how_far.cpp
  struct Behind {
    std::uint64_t messages = 0;  // that others have had of the predecessors, and this rank has not sent yet, as far as they have told
    bool to_finalize = false;    // the predecessors had come to MPI_Finalize, which others have left
    bool to_call = false;        // they had ended this call: of what comes behind it something is known
    bool known = false;          // somebody has had messages of this rank
    bool all_told = true, all_level = true;  // of those that have not left MPI_Finalize
    bool none() const { return messages == 0 && !to_finalize && !to_call; }
  };
  Behind behind_peers();
  bool has_told(const Peer& peer) const;
  bool has_come_as_far();
  bool is_level();
  bool is_level(const Peer& peer) const;
  void ask_how_far();
  void hear_how_far();
  bool is_asked_by(const Peer& peer) const;
  void answer_how_far(Rank awaited);
  void tell_awaited(Peer& from);
  bool awaits_message(Peer& from);
  std::uint64_t taken_before(Peer& peer) const;
  std::uint64_t messages_taken(const Peer& from);
  std::uint64_t messages_sent(const Peer& to);

  // Fault injection: the process kills itself at the n-th pass of the point of that name (docs/recovery.md).
  void point(wire::RankPoint passed) {
    if (points_left_ > 0) [[unlikely]] pass_point(passed.text);
  }
  void pass_point(const char* name);
  void read_injection(std::string_view spec);

  // wait.cpp
  void look_into_logs();
  static bool all_are_logged(const std::map<MessageName, Message*>& receiving);
  bool is_quiet();
  int ms_to_look();
  bool wait_asleep(bool (*done)(void*), Rank whom, void* self, std::int64_t began);
  bool wait_awake(bool (*done)(void*), void* self, std::int64_t& began);
  bool awaits_stable();
  void take_share(std::int64_t now);
  int ranks_awake() const;
  void look_for_crowd(std::int64_t from, std::int64_t to);
  void offer_to_threads() {
    if (threads_ordered && !in_rails_) recorder->offer();
  }
  void poll_asleep(std::span<pollfd> look, int ms_max);
  void sleep(bool (*done)(void*), void* self);
  std::uint64_t activity();
  static std::int64_t now_ns();

  Peer& peer(Rank rank) { return *peers[static_cast<std::size_t>(rank.value)]; }
  bool is_self(Rank rank) const { return rank == job.self; }
  segment::Counters& counters() { return control.header().counters; }

  std::vector<Peer*> local_peers_;
  std::vector<Peer*> remote_peers_;
  std::size_t not_looked_up_ = 0;  // of remote_peers_
  std::unique_ptr<rail::tcp::TcpRail> rail_;  // null: all ranks are on one node
  std::unique_ptr<RemoteLog> remote_log_;     // null as rail_
  std::unordered_map<std::uint64_t, Peer*> questions_;   // open reads of remote_log_
  std::unordered_map<std::uint64_t, Message*> fetches_;  // open fetches of remote_log_
  std::unordered_map<std::uint64_t, std::pair<Peer*, MessageName>> fetches_again_;  // the same, of what is in Incoming::again
  bool taking_from_log_ = false;    // records of remote_log_ are being taken
  bool payload_follows_ = false;    // an eager frame is accepted whose payload is still coming
  std::vector<Message*> gathered_;  // scratch of read_gathered
  std::vector<os::ProcessMemory::Piece> gathered_pieces_;  // scratch of read_at_once
  std::vector<Bytes> pieces_;       // scratch of offer_rail
  std::vector<Bytes> lasting_;      // scratch of offer_rail
  std::vector<MutableBytes> places_;  // scratch of send_ahead
  std::vector<std::byte> packed_;   // scratch of offer_rail
  bool finalizing_ = false;  // or has left
  bool order_over_ = false;  // threads were ordered and are no longer
  std::uint64_t frames_arrived_ = 0;  // by TCP
  std::uint64_t quiet_activity_ = 0;  // activity() when it last changed, as seen before sleeping
  std::int64_t quiet_since_ = 0;      // and when that was seen, ns
  std::int64_t look_at_ = 0;          // while it is quiet: when the logs of others are looked into again, ns
  std::int64_t look_pause_ns_ = 0;
  std::unique_ptr<segment::LogWriter> log_;
  std::vector<std::unique_ptr<PeerLog>> own_past_;
  std::unique_ptr<SentBefore> sent_before_;
  std::uint64_t known_calls_ = 0;  // predecessors had begun that call, as the recorder knows, also if their node was lost
  std::uint64_t past_calls_ = 0;  // MPI calls that predecessors are known to have begun; 0: the node that knew was lost
  std::uint64_t board_epoch_ = 0;
  bool self_unprotected_ = false;
  std::int64_t refused_at_ = 0;      // ns: the agent had no log segment; 0: it had
  std::int64_t no_room_since_ = 0;   // ns; 0: there was room
  Peer* asked_unprotect_ = nullptr;  // the receiver that this rank last asked to give up
  // Level `node`: what was written and is not known to be stable, and the sends that wait for it.
  struct Unstable {
    std::uint64_t events = 0;  // of the gate
    std::uint64_t end = 0;     // of the event stream, over all incarnations
    TestClock last_failed{};
  };
  struct HeldSend {
    Peer* to = nullptr;
    std::uint64_t end = 0;        // of its record, which is not published
    SendOperation* op = nullptr;  // completes when it may leave; null: it is complete, or not the program's
    std::uint64_t call = 0;
  };
  bool node_level_ = false;  // what is written is stable when the board says so: level `node` or `disk`
  struct Acknowledgement {
    Peer* to = nullptr;
    FrameHeader header;
  };
  std::optional<BoardStable> board_stable_;
  std::unique_ptr<core::vprotocol::Optimist> optimist_;  // null: another protocol, or level `process`
  std::deque<Acknowledgement> acknowledgements_;  // that wait until what they depend on is stable
  std::uint64_t acknowledged_ = 0;       // so many have waited
  std::uint64_t cuts_seen_ = 0;          // of the board, that this rank has looked at
  std::uint64_t stable_news_seen_ = 0;
  bool ends_as_orphan_ = false;
  std::uint64_t written_events_ = 0;     // of the gate, when all of them were written last
  std::uint64_t told_end_ = 0;           // of the event stream when the agent was last told
  std::vector<Message*> probed_;         // taken by a matched probe, and not received yet
  static constexpr std::uint64_t calls_unheard_max = 16;
  bool hears_rails_ = false;             // in one of the next calls: a backlog waits for a connection
  unsigned tests_ = 0;                   // look_while_testing was called
  std::uint64_t tested_activity_ = 0;    // activity() as look_while_testing saw it last, and since when
  std::int64_t tested_since_ = 0;
  bool (*tell_several_)(void*) = nullptr;  // of order_threads
  void* tell_several_self_ = nullptr;
  bool libc_events_wait_ = false;  // level `node`: the holder is to have them before the next gated frame leaves
  void keep_pace();
  ClockPace pace_;           // of MPI_Wtime
  std::atomic<double> wtime_offset_ = 0;  // MPI_Wtime less the monotonic clock; 0: not called yet
  std::uint64_t asked_ = 0;        // events of the gate when the agent was last told of some
  std::uint64_t wanted_ = 0;       // events that something waits for at the gate
  std::vector<std::byte> recent_events_;  // the end of the event stream: the byte at position p stands at p % its size
  std::vector<std::byte> carried_now_;    // what goes before the frame that is being offered
  Carried carrying_;                      // how far that goes
  std::vector<std::byte> dependencies_now_;  // frames that go with the message that is being sent
  std::uint64_t carried_log_bytes_ = 0;      // what their records take in the log
  TestClock past_failed_{};        // of this rank's predecessors
  std::uint64_t past_events_ = 0;  // bytes of the event streams of this rank's predecessors
  std::deque<Unstable> unstable_;
  std::deque<HeldSend> held_;
  std::uint64_t past_file_calls_ = 0;       // those behind which all that they had done to files is in them
  std::uint64_t past_published_calls_ = 0;  // calls of the predecessors all of whose sends stand in their logs
  bool divergence_is_fatal_ = true;
  bool spins_ = true;
  std::int64_t share_looked_at_ = 0;  // ns
  bool whole_machine_ = false;  // the job may use all its cores
  Crowd crowd_;
  unsigned long_waits_ = 0;  // that did not end while spinning
  bool caught_up_ = true;
  bool files_level_ = false;     // this rank is as far as peers know, and the recorder was told
  bool recorder_waits_ = false;  // to hear that this rank has caught up
  std::uint64_t direct_from_ = 0;  // from this size on large payloads inside the node are read out of the sender's buffer
  bool in_frame_ = false;  // a frame of a ring is being handled
  bool takes_more_ = false;  // take_at_once: other receives of that context are posted
  const bool* awaited_ = nullptr;  // of the operation that wait_for waits for
  os::MemoryCookie cookie_;
  segment::Exposures exposures_;
  std::uint64_t eager_bytes_ = 0;   // between nodes, the largest payload that may come unannounced
  std::uint64_t announced_above_ = 0;  // between nodes, a payload larger than this is announced by this rank first: no more than that
  std::uint64_t credit_bytes_ = 0;  // payloads that a receiver holds for one sender, at most
  MessagePool pool_;
  ContextPeer closed_peer_;  // stands for the peers of closed contexts
  bool level_ = true;  // with the predecessors, if there are any (how_far.cpp)
  bool past_is_known_ = false;  // past_calls_ are all: one of the predecessors here had been level with those of before
  bool hears_how_far_ = false;  // this rank waits for it
  bool probes_ = false;  // a probe waits
  SendOperation* self_synchronous_ = nullptr;  // of the message to self being delivered
  unsigned passes_ = 0;
  bool in_rails_ = false;
  bool storing_ = false;  // store_events is making room
  std::string point_name_;
  std::uint64_t points_left_ = 0;
};

}  // namespace hf::engine
