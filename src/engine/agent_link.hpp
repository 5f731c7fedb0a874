// The rank's side of wire/bootstrap.hpp: what a rank asks of its agent and tells it. Blocking, short questions; used at
// start, when something is used first, and after failures, never on the path of a message.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "os/mapping.hpp"
#include "os/seqpacket.hpp"
#include "os/unique_fd.hpp"
#include "wire/bootstrap.hpp"

namespace hf::engine {

class AgentLink {
 public:
  // Says hello on the socket of that name. The error text is for the user.
  static Result<std::unique_ptr<AgentLink>> connect(std::string_view socket_name, Rank rank);

  const wire::Welcome& welcome() const { return welcome_; }
  const std::vector<wire::RankEntry>& ranks() const { return ranks_; }
  const std::vector<wire::CollectiveRule>& rules() const { return rules_; }
  MutableBytes control() const { return control_.bytes(); }  // own control segment, writable
  int doorbell() const { return doorbell_.get(); }
  int descriptor() const { return socket_.get(); }

  // The board (wire::BoardHeader); single words are read with acquire.
  std::uint64_t board_epoch() const;
  wire::BoardEntry board_entry(Rank rank) const;
  struct Stable {
    std::uint64_t events = 0;  // bytes of this rank's event stream
    TestClock last_failed{};
  };
  Stable stable() const;
  int events_holder() const;          // agent whose ranks may be given this rank's events; -1: none
  // Protocol optimist.
  const wire::BoardDependencies& dependencies_of(Rank rank) const;  // single words are read with acquire
  std::uint64_t cut_total() const;                                  // of all ranks: how many cuts there are
  std::uint64_t stable_news() const;                                // changes with any rank's stable word
  bool looks_unasked() const;         // at what this rank determines
  Term events_term(Rank rank) const;  // of a rank of this node, its term; of another, below which its events are refused

  // Empty mapping: there is none.
  os::Mapping segment(const wire::SegmentName& name);
  os::UniqueFd doorbell_of(Rank rank);
  // The next writable log segment of this incarnation; empty when memory and disk are exhausted.
  MutableBytes new_log_segment();

  void tell(wire::BootstrapKind kind, Bytes body = {}, std::string_view text = {});
  template <class T>
  void tell(wire::BootstrapKind kind, const T& body, std::string_view text = {}) {
    tell(kind, std::as_bytes(std::span(&body, 1)), text);
  }
  bool closed();  // the agent is gone

 private:
  Result<os::Datagram> ask(wire::BootstrapKind kind, Bytes body);
  const wire::BoardEntry& entry_of(int rank) const;
  Result<> take_welcome(os::Datagram datagram);
  // The segment that comes with an answer. It ends the job where there is one and this process cannot take it.
  os::Mapping take(const os::Datagram& answer, bool writable);
  [[noreturn]] void lost();

  os::UniqueFd socket_;
  wire::Welcome welcome_;
  std::vector<wire::RankEntry> ranks_;
  std::vector<wire::CollectiveRule> rules_;
  os::Mapping board_;
  os::Mapping control_;
  os::UniqueFd doorbell_;
};

}  // namespace hf::engine
