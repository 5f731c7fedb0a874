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
  std::vector<std::uint64_t> seen;  // after each observation: the hash of all so far
  std::vector<Send> sends;
  std::vector<Post> posts;
  std::vector<Determinant> determined;
  std::size_t stable = 0;  // of them: all before are known to be
  std::uint64_t tests = 0;
  std::uint32_t outputs = 0;
  Lineage::State lineage;  // under optimist
  bool finished = false;
  std::uint64_t result = 0;
};

class Checker {
 public:
  Checker(int ranks, bool optimistic);

  // `stream`: of its predecessors' events, under optimist.
  Life& on_start(Rank rank, Incarnation incarnation, Term term, Bytes stream);
  // The process is gone and its node is not: the next incarnation has all that it had.
  void on_died(Life& life);
  void on_node_lost(Rank rank);
  void on_finished(Life& life, std::uint64_t result);

  // ---- calls of the program
  std::uint32_t on_send(Life& life, Rank to, Context context, MessageTag tag, std::uint64_t value);
  std::uint32_t on_post(Life& life, Rank source, Context context, MessageTag tag);
  void on_received(Life& life, std::uint32_t post, Rank from, MessageTag tag, const Payload& payload);
  void on_test(Life& life, std::span<const std::int32_t> found);
  void on_time(Life& life, double time);
  void on_probed(Life& life, std::uint32_t post, Rank from, MessageTag tag);
  void on_cancel(Life& life, std::uint32_t post, bool cancelled);
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
  // Where they must be from now on before they are stable.
  void on_wanted(Rank rank, const StoredEvents::Wanted& wanted);

  // ---- under optimist
  Lineage& lineage() { return lineage_; }
  void on_cut(Rank rank, Term term, std::uint64_t position);
  void on_rolled_back(Rank rank, const Life* life, std::uint64_t position, std::size_t heard) {
    lineage_.on_rolled_back(rank, life ? &life->lineage : nullptr, position, heard);
  }

  void violation(std::string text);
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
  bool optimistic_;
  Lineage lineage_;
};

}  // namespace hf::sim::job
