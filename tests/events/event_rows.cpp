// A row of docs/events.md at a time (paper 000, section III.A): rank 0 makes the call while only the message of rank 2 has come, looks
// at what was logged for it, and dies; its next incarnation, to which the messages of rank 1 come as well and first, must decide the
// same and log nothing.
//
//     event_rows [decisions]      prints a line a row. Three ranks; rank 0 dies once a row. `decisions`: looks at those alone, to see
//                                 that a library that forgets an event decides otherwise
#include <mpi.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "abi/process.hpp"
#include "core/vprotocol/events.hpp"
#include "event_rows.hpp"

namespace event_rows {
namespace {

using hf::core::vprotocol::EventHead;
using hf::core::vprotocol::EventKind;

std::vector<Logged> logged() {
  const std::vector<std::byte> bytes = hf::abi::process().engine->logged_events();
  std::vector<Logged> out;
  EventHead head;
  for (std::size_t at = 0; at < bytes.size(); at += hf::core::vprotocol::encoded_bytes(head)) {
    std::memcpy(&head, bytes.data() + at, sizeof head);
    out.push_back({head.kind, hf::core::vprotocol::encoded_bytes(head)});
  }
  return out;
}

void fail(const Row& row, const char* what) {
  std::fprintf(stderr, "%s: %s\n", row.name, what);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 4);
}

// Tests of the row before that found nothing are written before an event of another kind, where a part of the log may be all that is left.
bool closes_a_run(const std::vector<Row>& all, std::size_t number) {
  if (number == 0) return false;
  const Row &before = all[number - 1], &row = all[number];
  if (hf::abi::process().engine->job().node_count == 1 || !before.events.empty() || row.events.empty()) return false;
  return std::strstr(before.name, "nothing") && row.events.front().kind != EventKind::delivery;
}

// In the first of the incarnations that come to this row, what it logged is what its line says; in the next, nothing.
void check_logged(const Row& row, std::size_t before, bool again, bool closes) {
  std::vector<Logged> now = logged();
  now.erase(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(before));
  if (again && !now.empty()) fail(row, "the replay has logged something");
  if (again) return;
  const bool closed = !now.empty() && now.front().kind == EventKind::delivery && now.front().bytes == sizeof(EventHead);
  if (closed != closes) fail(row, "the end of a run of failed tests");
  if (closed) now.erase(now.begin());
  if (now.size() != row.events.size()) {
    std::fprintf(stderr, "%s: %zu events, %zu wanted\n", row.name, now.size(), row.events.size());
    fail(row, "number of events");
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].kind != row.events[i].kind) fail(row, "kind of event");
    if (now[i].bytes != row.events[i].bytes) fail(row, "bytes of event");
  }
}

void await_sent(int from) { MPI_Recv(nullptr, 0, MPI_BYTE, from, tag_sent, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

void observe(const std::vector<Row>& all, std::size_t number, unsigned incarnation, bool decisions_only) {
  const Row& row = all[number];
  const bool again = incarnation > number;
  const std::size_t before = logged().size();
  Scene scene;
  if (row.before) row.before(scene);
  go(2);
  await_sent(2);
  const std::vector<int> decision = row.call(scene);
  if (!decisions_only) check_logged(row, before, again, closes_a_run(all, number));
  if (decision != row.decision) {
    for (int d : decision) std::fprintf(stderr, "%s: decided %d\n", row.name, d);
    fail(row, "another decision");
  }
  if (!row.calls_all) go(1);
  await_sent(1);
  if (!again) raise(SIGKILL);
  if (row.after) row.after(scene);
}

}  // namespace

void go(int to) { MPI_Send(nullptr, 0, MPI_BYTE, to, tag_go, MPI_COMM_WORLD); }

void send_partitioned(int rank) {
  MPI_Request request;
  MPI_Psend_init(&rank, 1, 1, MPI_INT, 0, tag_late, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Pready(0, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out = matching_rows();
    for (const std::vector<Row>& more : {delivery_rows(), deterministic_rows()}) out.insert(out.end(), more.begin(), more.end());
    return out;
  }();
  return all;
}

int main_of(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool decisions_only = argc > 1 && std::strcmp(argv[1], "decisions") == 0;
  const std::vector<Row>& all = rows();
  for (std::size_t number = 0; number < all.size(); ++number) {
    const Row& row = all[number];
    if (rank == 0) {
      observe(all, number, hf::abi::process().engine->incarnation().value, decisions_only);
      std::printf("%s\n", row.name);
      std::fflush(stdout);
    } else {
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&rank, 1, MPI_INT, 0, tag_data, MPI_COMM_WORLD);
      if (row.send) row.send(rank);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, tag_sent, MPI_COMM_WORLD);
      if (row.peer) row.peer(rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace event_rows

int main(int argc, char** argv) { return event_rows::main_of(argc, argv); }
