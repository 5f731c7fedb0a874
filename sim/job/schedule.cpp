#include "sim/job/schedule.hpp"

namespace hf::sim::job {

Schedule::Schedule(Collective collective, int self, int ranks, int root, std::uint64_t value) : slots{value}, self_(self), ranks_(ranks) {
  list(collective, root);
}

void Schedule::list(Collective collective, int root) {
  switch (collective) {
    case Collective::barrier: return list_barrier();
    case Collective::bcast: return list_bcast(root);
    case Collective::reduce: return list_reduce(root);
    case Collective::alltoall: return list_alltoall();
    case Collective::allreduce: break;
  }
  list_reduce(root);
  list_bcast(root);
}

// A binomial tree.
void Schedule::list_bcast(int root) {
  const int me = (self_ + ranks_ - root) % ranks_;
  int bit = 1;
  for (; bit < ranks_ && !(me & bit); bit <<= 1) continue;
  if (me != 0) {
    recv((me - bit + root) % ranks_, 0);
    wait();
  }
  for (bit >>= 1; bit > 0; bit >>= 1) {
    if (me + bit < ranks_) send((me + bit + root) % ranks_);
  }
}

void Schedule::list_reduce(int root) {
  const int me = (self_ + ranks_ - root) % ranks_;
  for (int bit = 1; bit < ranks_; bit <<= 1) {
    if (me & bit) return send((me - bit + root) % ranks_);
    if (me + bit >= ranks_) continue;
    const std::size_t slot = new_slot();
    recv((me + bit + root) % ranks_, slot);
    wait();
    fold(slot);
  }
}

// Dissemination.
void Schedule::list_barrier() {
  for (int distance = 1; distance < ranks_; distance <<= 1) {
    const std::size_t slot = new_slot();
    send((self_ + distance) % ranks_);
    recv((self_ + ranks_ - distance) % ranks_, slot);
    wait();
    fold(slot);
  }
}

void Schedule::list_alltoall() {
  for (int i = 1; i < ranks_; ++i) recv((self_ + ranks_ - i) % ranks_, new_slot());
  for (int i = 1; i < ranks_; ++i) send((self_ + i) % ranks_);
  steps.push_back({Step::settle});
  for (std::size_t slot = 1; slot < slots.size(); ++slot) fold(slot);
}

}  // namespace hf::sim::job
