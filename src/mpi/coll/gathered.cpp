// Reductions whose operation runs at the end, in the call that completes them (Schedule::defers): everybody's input comes to whoever has a
// result, which reduces them in rank order. Nothing that was reduced is sent on.
#include "mpi/coll/gathered.hpp"

namespace hf::mpi {
namespace {

constexpr int none = -1;

// The inputs of `n` ranks, but for the own one, which is there: each into a temporary buffer, from the peer of that number.
void receive_inputs(Schedule& s, const Reduction& r, const void** inputs, int n, int own) {
  for (int from = 0; from < n; ++from) {
    if (from == own) continue;
    inputs[from] = s.temporary(r.count, *r.type);
    s.recv(from, r.part(inputs[from]));
  }
}

// The result grows from the right, in a buffer of its own: inputs are the program's, or are still needed.
void reduce_inputs(Schedule& s, const Reduction& r, const void* const* inputs, int n, void* receive) {
  void* result = n > 1 ? s.temporary(r.count, *r.type) : nullptr;
  s.rest_at_end();
  if (n == 1) {
    if (inputs[0] != receive) s.copy(r.part(inputs[0]), r.part(receive));
    return;
  }
  s.copy(r.part(inputs[n - 1]), r.part(result));
  for (int i = n - 2; i >= 0; --i) s.reduce(*r.op, inputs[i], result, r.count, *r.type);
  s.copy(r.part(result), r.part(receive));
}

void send_to_others(Schedule& s, const Part& part, int first, int end) {
  for (int to = first; to < end; ++to) {
    if (to != s.rank()) s.send(to, part);
  }
}

}  // namespace

void list_gathered_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive) {
  auto** inputs = s.array<const void*>(s.size());
  inputs[s.rank()] = send;
  send_to_others(s, r.part(send), 0, s.size());
  receive_inputs(s, r, inputs, s.size(), s.rank());
  reduce_inputs(s, r, inputs, s.size(), receive);
}

void list_gathered_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root) {
  if (s.rank() != root) {
    s.send(root, r.part(send));
    return;
  }
  auto** inputs = s.array<const void*>(s.size());
  inputs[root] = send;
  receive_inputs(s, r, inputs, s.size(), root);
  reduce_inputs(s, r, inputs, s.size(), receive);
}

void list_gathered_prefix(Schedule& s, const Reduction& r, const void* send, void* receive, bool own) {
  const int n = s.rank() + (own ? 1 : 0);
  auto** inputs = s.array<const void*>(s.size());
  inputs[s.rank()] = send;
  send_to_others(s, r.part(send), s.rank() + 1, s.size());
  receive_inputs(s, r, inputs, s.rank(), none);
  if (n > 0) reduce_inputs(s, r, inputs, n, receive);
}

void list_gathered_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* first) {
  const int rank = s.rank();
  for (int to = 0; to < s.size(); ++to) {
    if (const Count n = first[to + 1] - first[to]; to != rank && n > 0) s.send(to, r.part(send, first[to], n));
  }
  const Reduction mine{r.op, r.type, first[rank + 1] - first[rank]};
  if (mine.count == 0) return;
  auto** inputs = s.array<const void*>(s.size());
  inputs[rank] = r.at(send, first[rank]);
  receive_inputs(s, mine, inputs, s.size(), rank);
  reduce_inputs(s, mine, inputs, s.size(), receive);
}

void list_gathered_inter(Schedule& s, const Reduction& r, const void* send, void* receive, Count from, Count n) {
  const int remote = s.comm().remote->size();
  s.among(*s.comm().remote);
  for (int to = 0; to < remote; ++to) s.send(to, r.part(send));
  auto** inputs = s.array<const void*>(remote);
  receive_inputs(s, r, inputs, remote, none);
  for (int i = 0; i < remote; ++i) inputs[i] = r.at(inputs[i], from);
  if (n > 0) reduce_inputs(s, {r.op, r.type, n}, inputs, remote, receive);
}

void list_gathered_inter_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root) {
  s.among(*s.comm().remote);
  if (root != mpi::root) {
    s.send(root, r.part(send));
    return;
  }
  const int remote = s.comm().remote->size();
  auto** inputs = s.array<const void*>(remote);
  receive_inputs(s, r, inputs, remote, none);
  reduce_inputs(s, r, inputs, remote, receive);
}

}  // namespace hf::mpi
