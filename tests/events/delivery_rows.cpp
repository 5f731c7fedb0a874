// Delivery determinants: completion tests of which only some requests may complete, probes that do not wait, the outcome of Cancel
// (paper 000, III.A.3), lazy logging of tests that find nothing (IV.A.4), and MPI_Wtime.
#include "event_rows.hpp"

namespace event_rows {
namespace {

using Kind = hf::core::vprotocol::EventKind;

const std::vector<Logged> one_delivery = {{Kind::delivery, 32}}, nothing = {};
const std::vector<int> none_of_three = {0, 0, 0};

// requests[0] receives from rank 1, whose message is not there, requests[1] from rank 2, whose message is: it may still be on its way, so
// that tests are repeated until they find it, which logs no more than the one that does.
void post(Scene& s) {
  for (int i = 0; i < 2; ++i) MPI_Irecv(&s.data[i], 1, MPI_INT, i + 1, tag_data, MPI_COMM_WORLD, &s.requests[i]);
}
void finish(Scene& s) { MPI_Waitall(2, s.requests, MPI_STATUSES_IGNORE); }

std::vector<int> waitany(Scene& s) {
  int index = -1;
  MPI_Waitany(2, s.requests, &index, MPI_STATUS_IGNORE);
  return {index};
}
std::vector<int> waitsome(Scene& s) {
  int count = 0, indices[2];
  MPI_Waitsome(2, s.requests, &count, indices, MPI_STATUSES_IGNORE);
  return {count, indices[0]};
}
std::vector<int> test(Scene& s) {
  int flag = 0;
  while (!flag) MPI_Test(&s.requests[1], &flag, MPI_STATUS_IGNORE);
  return {flag};
}
std::vector<int> testany(Scene& s) {
  int index = -1, flag = 0;
  while (!flag) MPI_Testany(2, s.requests, &index, &flag, MPI_STATUS_IGNORE);
  return {flag, index};
}
std::vector<int> testsome(Scene& s) {
  int count = 0, indices[2];
  while (count == 0) MPI_Testsome(2, s.requests, &count, indices, MPI_STATUSES_IGNORE);
  return {count, indices[0]};
}
std::vector<int> testall(Scene& s) {
  int flag = 0;
  while (!flag) MPI_Testall(1, s.requests + 1, &flag, MPI_STATUSES_IGNORE);
  return {flag};
}
std::vector<int> get_status(Scene& s) {
  int flag = 0;
  while (!flag) MPI_Request_get_status(s.requests[1], &flag, MPI_STATUS_IGNORE);
  return {flag};
}
std::vector<int> get_status_all(Scene& s) {
  int flag = 0;
  while (!flag) MPI_Request_get_status_all(1, s.requests + 1, &flag, MPI_STATUSES_IGNORE);
  return {flag};
}
std::vector<int> get_status_any(Scene& s) {
  int index = -1, flag = 0;
  while (!flag) MPI_Request_get_status_any(2, s.requests, &index, &flag, MPI_STATUS_IGNORE);
  return {flag, index};
}
std::vector<int> get_status_some(Scene& s) {
  int count = 0, indices[2];
  while (count == 0) MPI_Request_get_status_some(2, s.requests, &count, indices, MPI_STATUSES_IGNORE);
  return {count, indices[0]};
}

// ---- tests that find nothing, though in the replay it is there

template <class Look>
std::vector<int> three_times(Look look) {
  std::vector<int> flags;
  for (int i = 0; i < 3; ++i) flags.push_back(look());
  return flags;
}
std::vector<int> failed_test(Scene& s) {
  return three_times([&] {
    int flag = 1;
    MPI_Test(&s.requests[0], &flag, MPI_STATUS_IGNORE);
    return flag;
  });
}
std::vector<int> failed_testany(Scene& s) {
  return three_times([&] {
    int flag = 1, index;
    MPI_Testany(1, s.requests, &index, &flag, MPI_STATUS_IGNORE);
    return flag;
  });
}
std::vector<int> failed_testsome(Scene& s) {
  return three_times([&] {
    int count = 1, index;
    MPI_Testsome(1, s.requests, &count, &index, MPI_STATUSES_IGNORE);
    return count;
  });
}
std::vector<int> failed_testall(Scene& s) {
  return three_times([&] {
    int flag = 1;
    MPI_Testall(2, s.requests, &flag, MPI_STATUSES_IGNORE);
    return flag;
  });
}
std::vector<int> failed_get_status(Scene& s) {
  return three_times([&] {
    int flag = 1;
    MPI_Request_get_status(s.requests[0], &flag, MPI_STATUS_IGNORE);
    return flag;
  });
}
std::vector<int> failed_iprobe(Scene&) {
  return three_times([&] {
    int flag = 1;
    MPI_Iprobe(1, tag_data, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return flag;
  });
}
std::vector<int> failed_improbe(Scene& s) {
  return three_times([&] {
    int flag = 1;
    MPI_Improbe(1, tag_data, MPI_COMM_WORLD, &flag, &s.message, MPI_STATUS_IGNORE);
    return flag;
  });
}
std::vector<int> failed_then_found(Scene& s) {
  std::vector<int> out = failed_test(s);
  for (int found : testany(s)) out.push_back(found);
  return out;
}

// ---- probes that do not wait

void take_both(Scene& s) {
  for (int i = 0; i < 2; ++i) MPI_Recv(&s.data[i], 1, MPI_INT, i + 1, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void take_last(Scene& s) { MPI_Recv(&s.data[0], 1, MPI_INT, 1, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

template <int source>
std::vector<int> iprobe(Scene&) {
  int flag = 0;
  MPI_Status status;
  while (!flag) MPI_Iprobe(source, tag_data, MPI_COMM_WORLD, &flag, &status);
  return {flag, status.MPI_SOURCE};
}
template <int source>
std::vector<int> improbe(Scene& s) {
  int flag = 0;
  MPI_Status status;
  while (!flag) MPI_Improbe(source, tag_data, MPI_COMM_WORLD, &flag, &s.message, &status);
  MPI_Mrecv(&s.data[1], 1, MPI_INT, &s.message, MPI_STATUS_IGNORE);
  return {flag, status.MPI_SOURCE, s.data[1]};
}

// ---- MPI_Parrived: requests[i] receives from rank i + 1

void post_partitioned(Scene& s) {
  for (int i = 0; i < 2; ++i) {
    MPI_Precv_init(&s.data[i], 1, 1, MPI_INT, i + 1, tag_late, MPI_COMM_WORLD, MPI_INFO_NULL, &s.requests[i]);
    MPI_Start(&s.requests[i]);
  }
}
std::vector<int> parrived(Scene& s) {
  int flag = 0;
  while (!flag) MPI_Parrived(s.requests[1], 0, &flag);
  return {flag, s.data[1]};
}
std::vector<int> failed_parrived(Scene& s) {
  return three_times([&] {
    int flag = 1;
    MPI_Parrived(s.requests[0], 0, &flag);
    return flag;
  });
}
void finish_partitioned(Scene& s) {
  finish(s);
  for (MPI_Request& request : s.requests) MPI_Request_free(&request);
  take_both(s);
}

// ---- Cancel

template <int source, int tag>
void post_one(Scene& s) {
  MPI_Irecv(&s.data[0], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &s.requests[0]);
}
std::vector<int> cancel(Scene& s) {
  int cancelled = -1;
  MPI_Status status;
  MPI_Cancel(&s.requests[0]);
  MPI_Wait(&s.requests[0], &status);
  MPI_Test_cancelled(&status, &cancelled);
  return {cancelled};
}
// What the cancelled receive would have taken.
void send_late(int rank) {
  if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, tag_late, MPI_COMM_WORLD);
}
void take_late(Scene& s) {
  take_both(s);
  MPI_Recv(&s.data[0], 1, MPI_INT, 1, tag_late, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// ---- the clock: told to rank 1, where another value in the replay is another payload, which ends the job

std::vector<int> wtime(Scene&) {
  const double now = MPI_Wtime();
  MPI_Send(&now, 1, MPI_DOUBLE, 1, tag_late, MPI_COMM_WORLD);
  return {};
}
void take_time(int rank) {
  double then;
  if (rank == 1) MPI_Recv(&then, 1, MPI_DOUBLE, 0, tag_late, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

std::vector<Row> delivery_rows() {
  const std::vector<Logged> one_cancel = {{Kind::cancel, 16}}, match_and_cancel = {{Kind::match, 16}, {Kind::cancel, 16}};
  constexpr int any = MPI_ANY_SOURCE;
  return {
      {"Waitany", one_delivery, {1}, waitany, post, finish},
      {"Waitsome", one_delivery, {1, 1}, waitsome, post, finish},
      {"Test", one_delivery, {1}, test, post, finish},
      {"Testany", one_delivery, {1, 1}, testany, post, finish},
      {"Testsome", one_delivery, {1, 1}, testsome, post, finish},
      {"Testall", one_delivery, {1}, testall, post, finish},
      {"Request_get_status", one_delivery, {1}, get_status, post, finish},
      {"Request_get_status_all", one_delivery, {1}, get_status_all, post, finish},
      {"Request_get_status_any", one_delivery, {1, 1}, get_status_any, post, finish},
      {"Request_get_status_some", one_delivery, {1, 1}, get_status_some, post, finish},
      {"Test, nothing", nothing, none_of_three, failed_test, post, finish},
      {"Testany, nothing", nothing, none_of_three, failed_testany, post, finish},
      {"Testsome, nothing", nothing, none_of_three, failed_testsome, post, finish},
      {"Testall, nothing", nothing, none_of_three, failed_testall, post, finish},
      {"Request_get_status, nothing", nothing, none_of_three, failed_get_status, post, finish},
      {"Iprobe, nothing", nothing, none_of_three, failed_iprobe, nullptr, take_both},
      {"Improbe, nothing", nothing, none_of_three, failed_improbe, nullptr, take_both},
      {"Test, nothing, then Testany", one_delivery, {0, 0, 0, 1, 1}, failed_then_found, post, finish},
      {"Iprobe any", one_delivery, {1, 2}, iprobe<any>, nullptr, take_both},
      {"Iprobe named", one_delivery, {1, 2}, iprobe<2>, nullptr, take_both},
      {"Improbe any", one_delivery, {1, 2, 2}, improbe<any>, nullptr, take_last},
      {"Improbe named", one_delivery, {1, 2, 2}, improbe<2>, nullptr, take_last},
      {"Parrived", one_delivery, {1, 2}, parrived, post_partitioned, finish_partitioned, nullptr, false, send_partitioned},
      {"Parrived, nothing", nothing, none_of_three, failed_parrived, post_partitioned, finish_partitioned, nullptr, false,
       send_partitioned},
      {"Cancel any, cancelled", one_cancel, {1}, cancel, post_one<any, tag_late>, take_late, send_late},
      {"Cancel named, cancelled", one_cancel, {1}, cancel, post_one<1, tag_late>, take_late, send_late},
      {"Cancel any, matched", match_and_cancel, {0}, cancel, post_one<any, tag_data>, take_last},
      {"Cancel named, matched", one_cancel, {0}, cancel, post_one<2, tag_data>, take_last},
      {"Wtime", {{Kind::time, 16}}, {}, wtime, nullptr, take_both, take_time},
  };
}

}  // namespace event_rows
