// What must hold, whatever the protocol does to make it so. Sees what each incarnation's program called and was given, what
// left it, and which bytes of events were stored where; knows nothing of matching, gates and replay.
//
// The n-th send, receive (or probe) and completion test of a program are counted here, from its calls.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "sim/job/differences.hpp"
#include "sim/job/frame.hpp"
#include "sim/job/lineage.hpp"
#include "sim/job/stored.hpp"

namespace hf::sim::job {

// One incarnation as its program saw it.
struct Life {
  struct Send {
    Rank to{};
    Context context{};
    MessageTag tag{};
    Payload payload;
    std::size_t seen = 0, determined = 0;  // before it: observations, determinants
  };
  struct Post {
    Rank source{};
    Context context{};
    MessageTag tag{};
    std::uint64_t number = 0;  // of those that may be from any source
    bool received = false;
    Rank from{};
    Payload payload;
  };
  struct Determinant {
    enum Kind : std::uint8_t { match, delivery, failed, time, cancel } kind;
    std::uint64_t key;
  };
  Rank rank{};
  Incarnation incarnation{};
  Term term{};
  std::uint64_t home = 0;           // ranks of one home are lost together
  std::map<std::pair<Rank, Context>, Differences> taken;
  std::vector<std::uint64_t> seen;  // after each observation: the hash of all so far
  std::vector<Send> sends;
  std::vector<Post> posts;
  std::vector<Determinant> determined;
  std::size_t stable = 0;  // of them: all before are known to be
  std::uint64_t tests = 0, requests = 0;
  std::uint32_t outputs = 0;
  Lineage::State lineage;  // under optimist
  bool finished = false;
  std::uint64_t result = 0;
};

class Checker {
 public:
  // `lineage`: false where nothing fails.
  Checker(int ranks, bool optimistic, bool lineage);

  // `stream`: of its predecessors' events, under optimist. `home`: where it is, and with whom.
  Life& on_start(Rank rank, Incarnation incarnation, Term term, std::uint64_t home, Bytes stream);
  // The process is gone and its node is not: the next incarnation has all that it had.
  void on_died(Life& life);
  void on_node_lost(Rank rank);
  void on_finished(Life& life, std::uint64_t result);

  // ---- calls of the program
  std::uint32_t next_send(const Life& life) const { return static_cast<std::uint32_t>(life.sends.size()); }
  std::uint32_t on_send(Life& life, Rank to, Context context, MessageTag tag, std::uint64_t value);
  std::uint32_t on_post(Life& life, Rank source, Context context, MessageTag tag);
  void on_received(Life& life, std::uint32_t post, Rank from, MessageTag tag, const Payload& payload);
  void on_test(Life& life, std::span<const std::int32_t> found);
  void on_time(Life& life, double time);
  void on_probed(Life& life, std::uint32_t post, Rank from, MessageTag tag);
  // What a test has found and taken, which is no request of the program.
  std::uint32_t on_taken_by_test(Life& life, Rank from, Context context, MessageTag tag);
  void on_cancel(Life& life, std::uint32_t post, bool cancelled);
  // Messages of a collective are counted when it is called, whenever they go and come; the program sees what they amount to.
  std::uint32_t on_listed_send(Life& life, Rank to, Context context) { return on_send(life, to, context, MessageTag(0), 0); }
  std::uint32_t on_listed_receive(Life& life, Rank source, Context context) { return on_taken_by_test(life, source, context, any_tag); }
  void on_step_sent(Life& life, std::uint32_t send, const Frame& frame);
  void on_step_received(Life& life, std::uint32_t post, Rank from, const Payload& payload);
  void on_collective(Life& life, std::uint64_t result) { observe(life, result); }
  // Under optimist. Returns its number.
  std::uint32_t on_print(Life& life) { return life.outputs++; }

  // ---- what happens below it
  // A frame with this payload was given to the network, or a record with it may be read by others.
  void on_left(Rank rank, Incarnation incarnation, std::uint32_t send);
  // The acknowledgement of a synchronous message, which was matched after so many observations and determinants of the program, in this
  // state.
  void on_acknowledged(Rank rank, Incarnation incarnation, std::size_t seen, std::size_t determined, SnapshotId state);
  // What its program printed leaves the job.
  struct Output {
    std::uint32_t number = 0;
    std::uint64_t value = 0;
    std::size_t seen = 0;
    SnapshotId state = 0;
  };
  void on_output(Rank rank, Incarnation incarnation, const Output& output);
  // Events of a rank have come to a place (StoredEvents): these, of the stream as it is under this term, up to `end`.
  void on_stored(Rank rank, int place, Term term, std::uint64_t end, Bytes events, TestClock last_failed);
  // Where they must be from now on before they are stable, for the hosting under that term.
  void on_wanted(Rank rank, Term term, const StoredEvents::Wanted& wanted);
  void on_hosting_over(Rank rank, Term term) { of(rank).stored.on_hosting_over(term); }

  // ---- sums of what was taken. Before the first difference nothing may be reported; from then on nothing else must hold.
  void expect_differences() { expects_differences_ = true; }
  void on_divergence() { diverged_ = true; }
  bool diverged() const { return diverged_; }
  void on_arrived(Life& life, Rank from, const Frame& frame);
  void on_payload(Life& life, Rank from, const Frame& frame, std::uint64_t value);
  void on_large_again(Life& life, Rank from, const Frame& frame, bool has_payload);
  void on_taken_back(Life& life, Rank from, const Frame& frame);
  // By a receiver: one of these messages is not what it was.
  void on_reported(Life& life, Rank from, Context context, Sequence first, Sequence last, bool envelope);

  // ---- under optimist
  Lineage& lineage() { return lineage_; }
  void on_cut(Rank rank, Term term, std::uint64_t position, bool more);
  void on_rolled_back(Rank rank, const Life* life, std::uint64_t position, std::size_t heard) {
    lineage_.on_rolled_back(rank, life ? &life->lineage : nullptr, position, heard);
  }

  void violation(std::string text) {
    if (!diverged_) note(std::move(text));
  }
  void at_end();
  const std::vector<std::string>& violations() const { return violations_; }
  std::vector<std::uint64_t> results() const;
  bool finished(Rank rank) const { return ranks_[static_cast<std::size_t>(rank.value)].final != nullptr; }

 private:
  struct RankState {
    std::vector<std::unique_ptr<Life>> lives;
    Incarnation newest{};
    Life* final = nullptr;                // the one that finished last
    std::vector<std::uint64_t> shown;     // observations on which something that left depends
    std::vector<std::uint64_t> on_node;   // observations that the memory of the rank's node keeps
    StoredEvents stored;
    std::vector<std::uint64_t> outputs;
  };
  void note(std::string text);
  void require_reported(const Life& life);
  Differences* differences(Life& life, Rank from, const Frame& frame);
  RankState& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank.value)]; }
  Life& life(Rank rank, Incarnation incarnation);
  void observe(Life& life, std::uint64_t what);
  bool is_stable(const RankState& state, const Life::Determinant& determinant) const;
  void require_stable(Life& life, std::size_t count, const char* what);
  void show(Life& life, std::size_t count);
  using Channel = std::map<std::pair<Rank, Context>, std::vector<const Life::Send*>>;
  void check_received(const Life& life, const Channel& sent);

  std::vector<RankState> ranks_;
  std::vector<std::string> violations_;
  bool optimistic_, expects_differences_ = false, diverged_ = false;
  Lineage lineage_;
};

}  // namespace hf::sim::job
