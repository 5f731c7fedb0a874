// The board of a node: what its ranks know of every rank of the job (wire/bootstrap.hpp). The agent alone writes it.
#pragma once
#include "base/ids.hpp"
#include "base/result.hpp"
#include "os/mapping.hpp"
#include "os/unique_fd.hpp"
#include "wire/bootstrap.hpp"

namespace hf::daemon {

class Board {
 public:
  static Result<Board> create(int rank_count);
  int read_only_fd() const { return read_only_.get(); }
  // Of a new incarnation the address is forgotten. Incarnations never go back: older news is ignored.
  void set_state(int rank, std::uint32_t incarnation, wire::RankState state);
  void set_address(int rank, std::uint32_t incarnation, std::uint32_t address, std::uint16_t port);
  void set_unprotected(int rank);  // for good
  void set_cut_off(int rank, bool on);
  // Which agent keeps the rank's logs, from incarnation `log_base` on. Before the state of the first incarnation there.
  void set_place(int rank, int agent, std::uint32_t log_base, std::uint32_t address, std::uint16_t port);
  std::uint32_t incarnation(int rank) const;  // the newest that was heard of
  void set_events_term(int rank, Term term);  // what is stored before anybody looks after this is seen by who looks after it as well
  void set_events_holder(int agent);          // -1: none; in the same order
  // Protocol optimist. The term in which the rank began with the events up to that position; once for each term. False: there are as many
  // as can be. Whoever writes a dependency and then looks at the cuts sees it, or whoever calls this and then looks sees the dependency.
  bool add_cut(int rank, Term term, std::uint64_t position);
  void set_stable_of(int rank, Term term, std::uint64_t position);  // of any rank of the job; the epoch stays
  void set_looked_at(int rank, bool on);  // a rank of this node; off: who stores something and then looks at it sees that, or we see what was stored
  const wire::BoardDependencies& dependencies(int rank) const;
  void set_stable(int rank, std::uint64_t events, std::uint64_t last_failed);  // no news for others: the epoch stays

 private:
  wire::BoardEntry& entry(int rank) const;
  wire::BoardDependencies& dependencies_of(int rank) const;
  void publish();
  int rank_count_ = 0;
  os::Mapping mapping_;
  os::UniqueFd read_only_;
};

}  // namespace hf::daemon
