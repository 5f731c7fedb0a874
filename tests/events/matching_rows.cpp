// Matching determinants: promiscuous receives and probes (paper 000, III.A.2).
#include "event_rows.hpp"

namespace event_rows {
namespace {

using Kind = hf::core::vprotocol::EventKind;

const std::vector<Logged> one_match = {{Kind::match, 16}};
constexpr int any = MPI_ANY_SOURCE;

void take_last(Scene& s) { MPI_Recv(&s.data[1], 1, MPI_INT, 1, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

std::vector<int> source_and(const MPI_Status& status, int data) { return {status.MPI_SOURCE, data}; }

std::vector<int> recv(Scene& s) {
  MPI_Status status;
  MPI_Recv(&s.data[0], 1, MPI_INT, any, tag_data, MPI_COMM_WORLD, &status);
  return source_and(status, s.data[0]);
}

void post(Scene& s) { MPI_Irecv(&s.data[0], 1, MPI_INT, any, tag_data, MPI_COMM_WORLD, &s.requests[0]); }
std::vector<int> wait(Scene& s) {
  MPI_Status status;
  MPI_Wait(&s.requests[0], &status);
  return source_and(status, s.data[0]);
}
std::vector<int> irecv(Scene& s) {
  post(s);
  return wait(s);
}

void start(Scene& s) {
  MPI_Recv_init(&s.data[0], 1, MPI_INT, any, tag_data, MPI_COMM_WORLD, &s.requests[0]);
  MPI_Start(&s.requests[0]);
}
void start_again(Scene& s) {
  MPI_Start(&s.requests[0]);
  MPI_Wait(&s.requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&s.requests[0]);
}

std::vector<int> sendrecv(Scene& s) {
  MPI_Status status;
  MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, &s.data[0], 1, MPI_INT, any, tag_data, MPI_COMM_WORLD, &status);
  return source_and(status, s.data[0]);
}
std::vector<int> sendrecv_replace(Scene& s) {
  MPI_Status status;
  MPI_Sendrecv_replace(&s.data[0], 1, MPI_INT, MPI_PROC_NULL, 0, any, tag_data, MPI_COMM_WORLD, &status);
  return source_and(status, s.data[0]);
}
std::vector<int> isendrecv(Scene& s) {
  MPI_Isendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, &s.data[0], 1, MPI_INT, any, tag_data, MPI_COMM_WORLD, &s.requests[0]);
  return wait(s);
}

std::vector<int> probe(Scene& s) {
  MPI_Status status;
  MPI_Probe(any, tag_data, MPI_COMM_WORLD, &status);
  MPI_Recv(&s.data[0], 1, MPI_INT, status.MPI_SOURCE, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return source_and(status, s.data[0]);
}
std::vector<int> mprobe(Scene& s) {
  MPI_Status status;
  MPI_Mprobe(any, tag_data, MPI_COMM_WORLD, &s.message, &status);
  MPI_Mrecv(&s.data[0], 1, MPI_INT, &s.message, MPI_STATUS_IGNORE);
  return source_and(status, s.data[0]);
}
std::vector<int> mprobe_imrecv(Scene& s) {
  MPI_Mprobe(any, tag_data, MPI_COMM_WORLD, &s.message, MPI_STATUS_IGNORE);
  MPI_Imrecv(&s.data[0], 1, MPI_INT, &s.message, &s.requests[0]);
  return wait(s);
}

}  // namespace

std::vector<Row> matching_rows() {
  return {
      {"Recv any", one_match, {2, 2}, recv, nullptr, take_last},
      {"Irecv any, unexpected", one_match, {2, 2}, irecv, nullptr, take_last},
      {"Irecv any, posted", one_match, {2, 2}, wait, post, take_last},
      {"Recv_init any", one_match, {2, 2}, wait, start, start_again},
      {"Sendrecv any", one_match, {2, 2}, sendrecv, nullptr, take_last},
      {"Sendrecv_replace any", one_match, {2, 2}, sendrecv_replace, nullptr, take_last},
      {"Isendrecv any", one_match, {2, 2}, isendrecv, nullptr, take_last},
      {"Probe any", one_match, {2, 2}, probe, nullptr, take_last},
      {"Mprobe any, Mrecv", one_match, {2, 2}, mprobe, nullptr, take_last},
      {"Mprobe any, Imrecv", one_match, {2, 2}, mprobe_imrecv, nullptr, take_last},
  };
}

}  // namespace event_rows
