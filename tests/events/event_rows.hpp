// What one row of docs/events.md says, and how it is made to happen.
#pragma once
#include <mpi.h>

#include <vector>

#include "core/vprotocol/events.hpp"

namespace event_rows {

enum { tag_go = 1, tag_data, tag_sent, tag_late };

struct Logged {
  hf::core::vprotocol::EventKind kind;
  std::size_t bytes;
};

// What a row's functions share.
struct Scene {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message = MPI_MESSAGE_NULL;
  int data[2] = {0, 0};
};

// A row's call is made with rank 2's message there and rank 1's not even sent. `before`, `call` and `after` are rank 0's: before
// rank 2 sends, then, and once rank 1 has sent too; `after` takes what is left. `peer`: what ranks 1 and 2 do then.
struct Row {
  const char* name;
  std::vector<Logged> events;  // that `call` logs, in this order
  std::vector<int> decision;   // that it returns
  std::vector<int> (*call)(Scene&);
  void (*before)(Scene&) = nullptr;
  void (*after)(Scene&) = nullptr;
  void (*peer)(int rank) = nullptr;
  bool calls_all = false;  // `call` is one in which rank 1 takes part: it tells rank 1 to send itself
  void (*send)(int rank) = nullptr;  // what ranks 1 and 2 do beside sending their message, before they say that they have
};

void go(int to);  // rank 0 tells this rank to send
const std::vector<Row>& rows();
void send_partitioned(int rank);  // one partition to rank 0, with tag_late
std::vector<Row> matching_rows();       // paper 000, III.A.2
std::vector<Row> delivery_rows();       // III.A.3
std::vector<Row> deterministic_rows();  // what the two leave out

}  // namespace event_rows
