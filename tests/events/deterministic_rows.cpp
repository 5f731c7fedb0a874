// What logs nothing: receives and probes from a named source, since channels are FIFO, and calls that wait for all they were given
// (paper 000, III.A.2 and III.A.3); sends; collectives, whose messages are taken by number.
#include "event_rows.hpp"

namespace event_rows {
namespace {

const std::vector<Logged> nothing = {};
const MPI_Comm world = MPI_COMM_WORLD;

void take_both(Scene& s) {
  for (int i = 0; i < 2; ++i) MPI_Recv(&s.data[i], 1, MPI_INT, i + 1, tag_data, world, MPI_STATUS_IGNORE);
}
void take_last(Scene& s) { MPI_Recv(&s.data[0], 1, MPI_INT, 1, tag_data, world, MPI_STATUS_IGNORE); }

// ---- receives and probes from rank 2

std::vector<int> recv(Scene& s) {
  MPI_Status status;
  MPI_Recv(&s.data[1], 1, MPI_INT, 2, MPI_ANY_TAG, world, &status);
  return {status.MPI_TAG, s.data[1]};
}
void post(Scene& s) { MPI_Irecv(&s.data[1], 1, MPI_INT, 2, tag_data, world, &s.requests[1]); }
std::vector<int> wait(Scene& s) {
  MPI_Wait(&s.requests[1], MPI_STATUS_IGNORE);
  return {s.data[1]};
}
std::vector<int> waitall(Scene& s) {
  MPI_Waitall(1, s.requests + 1, MPI_STATUSES_IGNORE);
  return {s.data[1]};
}
void start(Scene& s) {
  MPI_Recv_init(&s.data[1], 1, MPI_INT, 2, tag_data, world, &s.requests[1]);
  MPI_Start(&s.requests[1]);
}
void free_and_take_last(Scene& s) {
  MPI_Request_free(&s.requests[1]);
  take_last(s);
}
std::vector<int> sendrecv(Scene& s) {
  MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, &s.data[1], 1, MPI_INT, 2, tag_data, world, MPI_STATUS_IGNORE);
  return {s.data[1]};
}
std::vector<int> probe(Scene&) {
  MPI_Status status;
  MPI_Probe(2, MPI_ANY_TAG, world, &status);
  return {status.MPI_TAG};
}
std::vector<int> mprobe(Scene& s) {
  MPI_Mprobe(2, tag_data, world, &s.message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&s.data[1], 1, MPI_INT, &s.message, MPI_STATUS_IGNORE);
  return {s.data[1]};
}
// Tests that have nothing to look at: their outcome follows from the program.
std::vector<int> empty_tests(Scene& s) {
  int flag = 0, index = 0, count = 0;
  MPI_Test(&s.requests[0], &flag, MPI_STATUS_IGNORE);
  MPI_Waitany(2, s.requests, &index, MPI_STATUS_IGNORE);
  MPI_Waitsome(2, s.requests, &count, s.data, MPI_STATUSES_IGNORE);
  return {flag, index, count};
}

void start_partitioned(Scene& s) {
  MPI_Precv_init(&s.data[1], 1, 1, MPI_INT, 2, tag_late, world, MPI_INFO_NULL, &s.requests[1]);
  MPI_Start(&s.requests[1]);
}
void free_and_take_both(Scene& s) {
  MPI_Request_free(&s.requests[1]);
  take_both(s);
}
void send_one_partition(int rank) {
  if (rank == 2) send_partitioned(rank);
}

// ---- sends to rank 2

void receive(int rank) {
  int data;
  if (rank == 2) MPI_Recv(&data, 1, MPI_INT, 0, tag_late, world, MPI_STATUS_IGNORE);
}
template <int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm)>
std::vector<int> blocking(Scene& s) {
  return {send(&s.data[0], 1, MPI_INT, 2, tag_late, world)};
}
template <int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)>
std::vector<int> immediate(Scene& s) {
  send(&s.data[0], 1, MPI_INT, 2, tag_late, world, &s.requests[0]);
  return {MPI_Wait(&s.requests[0], MPI_STATUS_IGNORE)};
}
template <int (*init)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)>
std::vector<int> persistent(Scene& s) {
  init(&s.data[0], 1, MPI_INT, 2, tag_late, world, &s.requests[0]);
  MPI_Start(&s.requests[0]);
  const int code = MPI_Wait(&s.requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&s.requests[0]);
  return {code};
}
char space[1000 + MPI_BSEND_OVERHEAD];
void attach(Scene&) { MPI_Buffer_attach(space, sizeof space); }
void detach(Scene& s) {
  void* buffer;
  int bytes;
  MPI_Buffer_detach(&buffer, &bytes);
  take_both(s);
}

// More than the buffer holds, while the first waits: at level `node` the match must be stable before it leaves.
std::vector<int> fill(Scene& s) {
  static char message[1000];
  MPI_Recv(&s.data[1], 1, MPI_INT, MPI_ANY_SOURCE, tag_data, world, MPI_STATUS_IGNORE);
  std::vector<int> out{s.data[1]};
  for (int i = 0; i < 3; ++i) out.push_back(MPI_Bsend(message, sizeof message, MPI_CHAR, 2, tag_late, world));
  return out;
}
void empty(int rank) {
  char message[1000];
  for (int i = 0; i < 3 && rank == 2; ++i) MPI_Recv(message, sizeof message, MPI_CHAR, 0, tag_late, world, MPI_STATUS_IGNORE);
}
void detach_and_take_last(Scene& s) {
  void* buffer;
  int bytes;
  MPI_Buffer_detach(&buffer, &bytes);
  take_last(s);
}

// ---- collectives of all ranks

std::vector<int> collective(Scene&) {
  int mine = 1, sum = 0;
  go(1);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world);
  return {sum};
}
void take_part(int) {
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world);
}
std::vector<int> nonblocking_collective(Scene& s) {
  int mine = 1, sum = 0;
  go(1);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world, &s.requests[0]);
  MPI_Wait(&s.requests[0], MPI_STATUS_IGNORE);
  return {sum};
}
void take_part_nonblocking(int) {
  int mine = 1, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

std::vector<Row> deterministic_rows() {
  return {
      {"Recv named, any tag", nothing, {tag_data, 2}, recv, nullptr, take_last},
      {"Irecv named, Wait", nothing, {2}, wait, post, take_last},
      {"Irecv named, Waitall", nothing, {2}, waitall, post, take_last},
      {"Recv_init named", nothing, {2}, wait, start, free_and_take_last},
      {"Sendrecv named", nothing, {2}, sendrecv, nullptr, take_last},
      {"Precv_init, Wait", nothing, {2}, wait, start_partitioned, free_and_take_both, nullptr, false, send_one_partition},
      {"Probe named", nothing, {tag_data}, probe, nullptr, take_both},
      {"Mprobe named", nothing, {2}, mprobe, nullptr, take_last},
      {"tests of nothing", nothing, {1, MPI_UNDEFINED, MPI_UNDEFINED}, empty_tests, nullptr, take_both},
      {"Send", nothing, {0}, blocking<MPI_Send>, nullptr, take_both, receive},
      {"Ssend", nothing, {0}, blocking<MPI_Ssend>, nullptr, take_both, receive},
      {"Bsend", nothing, {0}, blocking<MPI_Bsend>, attach, detach, receive},
      {"Bsend, the buffer full", {{hf::core::vprotocol::EventKind::match, 16}}, {2, 0, 0, 0}, fill, attach, detach_and_take_last, empty},
      {"Isend", nothing, {0}, immediate<MPI_Isend>, nullptr, take_both, receive},
      {"Issend", nothing, {0}, immediate<MPI_Issend>, nullptr, take_both, receive},
      {"Send_init", nothing, {0}, persistent<MPI_Send_init>, nullptr, take_both, receive},
      {"Ssend_init", nothing, {0}, persistent<MPI_Ssend_init>, nullptr, take_both, receive},
      {"Allreduce", nothing, {3}, collective, nullptr, take_both, take_part, true},
      {"Iallreduce", nothing, {3}, nonblocking_collective, nullptr, take_both, take_part_nonblocking, true},
  };
}

}  // namespace event_rows
