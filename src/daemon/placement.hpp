// Which node each rank of a job is on. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hf::daemon {

inline constexpr int slots_not_said = 0, slots_unlimited = -1;

struct Host {
  std::string name;            // as ssh or srun takes it
  int slots = slots_not_said;  // ranks that it is to have at most; not said: one
  bool operator==(const Host&) const = default;
};

struct MapBy {
  enum class Kind {
    slot,      // a host is filled before the next one
    node,      // one rank to each host in turn
    per_node,  // `count` ranks to each host
  } kind = Kind::slot;
  int count = 0;
};

// Hosts that are kept free of ranks: those behind the ones with ranks, in this order.
struct WithoutRanks {
  int spares = 0, event_loggers = 0;
  int count() const { return spares + event_loggers; }
};

struct Placement {
  std::vector<Host> hosts;  // by number of agent
  int node_count = 0;       // with ranks: the first ones; then the spare ones, then the event loggers
  std::vector<std::int32_t> node_of_rank;
};

// What fills the slots of the hosts with ranks, for a job whose number of ranks is not said; 1 where slots are unlimited and no number for each is said.
int ranks_that_fill(const std::vector<Host>& hosts, MapBy map_by, WithoutRanks without = {});

// Hosts of unlimited slots share the ranks out evenly, and all of them count as nodes. `oversubscribe`: more ranks than slots are
// dealt out in turn once all slots are taken.
Result<Placement> place(std::vector<Host> hosts, int rank_count, MapBy map_by, bool oversubscribe, WithoutRanks without = {});

}  // namespace hf::daemon
