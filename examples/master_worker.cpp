// Master and workers: rank 0 hands out ranges of numbers, the others find in each the number with the longest Collatz
// chain and a floating-point sum over all chains. The master keeps several any-source receives posted and takes
// whichever completes (Waitany); a worker always has its next task under way while it computes. Who does what differs
// from run to run; the answer does not: results are kept by task.
//
//   master_worker [--tasks 400] [--size 500] [--posted 3] [--check]
//
// --size: mean numbers in a task (they are uneven on purpose). --check: rank 0 does all tasks by itself and compares.
#include <cstdint>
#include <vector>

#include "common.h"

namespace {

enum Tag { kTask = 1, kResult, kStop };

struct Task {
  std::int64_t index, first, count;
};

struct Result {
  std::int64_t index, best, chain;
  double sum;
};

Task make_task(std::int64_t index, std::int64_t size) {
  const auto count = 1 + static_cast<std::int64_t>(random_at(5, static_cast<std::uint64_t>(index)) % (2 * size));
  return {index, 1 + index * 2 * size, count};
}

Result work(const Task& task) {
  Result result = {task.index, 0, -1, 0.0};
  for (std::int64_t start = task.first; start < task.first + task.count; ++start) {
    std::int64_t chain = 0;
    for (std::int64_t n = start; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) ++chain;
    if (chain > result.chain) {
      result.chain = chain;
      result.best = start;
    }
    result.sum += 1.0 / static_cast<double>(start + chain);
  }
  return result;
}

constexpr int kTaskWords = sizeof(Task) / sizeof(std::int64_t);

// Every worker starts with two tasks, so that one is under way while it computes the other.
std::vector<Result> lead(int workers, std::int64_t tasks, std::int64_t size, int posted) {
  std::vector<Result> results(static_cast<std::size_t>(tasks)), incoming(static_cast<std::size_t>(posted));
  std::vector<MPI_Request> requests(static_cast<std::size_t>(posted));
  std::int64_t next = 0, outstanding = 0;
  auto hand_out = [&](int worker) {
    const Task task = make_task(next++, size);
    MPI_Send(&task, kTaskWords, MPI_INT64_T, worker, kTask, MPI_COMM_WORLD);
    ++outstanding;
  };
  auto post = [&](std::size_t slot) {
    MPI_Irecv(&incoming[slot], sizeof(Result), MPI_BYTE, MPI_ANY_SOURCE, kResult, MPI_COMM_WORLD, &requests[slot]);
  };
  for (std::size_t slot = 0; slot < requests.size(); ++slot) post(slot);
  for (int round = 0; round < 2; ++round) {
    for (int worker = 1; worker <= workers && next < tasks; ++worker) hand_out(worker);
  }
  while (outstanding > 0) {
    int slot;
    MPI_Status status;
    MPI_Waitany(posted, requests.data(), &slot, &status);
    --outstanding;
    const Result result = incoming[static_cast<std::size_t>(slot)];
    results[static_cast<std::size_t>(result.index)] = result;
    if (next < tasks) hand_out(status.MPI_SOURCE);
    post(static_cast<std::size_t>(slot));
  }
  for (int worker = 1; worker <= workers; ++worker) MPI_Send(nullptr, 0, MPI_INT64_T, worker, kStop, MPI_COMM_WORLD);
  for (MPI_Request& request : requests) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return results;
}

void follow() {
  Task tasks[2];
  MPI_Request incoming;
  MPI_Request outgoing = MPI_REQUEST_NULL;
  Result result;
  auto post = [&](int slot) {
    MPI_Irecv(&tasks[slot], kTaskWords, MPI_INT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &incoming);
  };
  post(0);
  for (int slot = 0;; slot = 1 - slot) {
    MPI_Status status;
    MPI_Wait(&incoming, &status);
    if (status.MPI_TAG == kStop) break;
    post(1 - slot);
    const Result computed = work(tasks[slot]);
    MPI_Wait(&outgoing, MPI_STATUS_IGNORE);
    result = computed;
    MPI_Isend(&result, sizeof(Result), MPI_BYTE, 0, kResult, MPI_COMM_WORLD, &outgoing);
  }
  MPI_Wait(&outgoing, MPI_STATUS_IGNORE);
}

std::vector<Result> alone(std::int64_t tasks, std::int64_t size) {
  std::vector<Result> results;
  for (std::int64_t i = 0; i < tasks; ++i) results.push_back(work(make_task(i, size)));
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long tasks = option_long(argc, argv, "--tasks", 400, 1);
  const long size = option_long(argc, argv, "--size", 500, 1);
  const long posted = option_long(argc, argv, "--posted", 3, 1);
  const int check = option_flag(argc, argv, "--check");

  int good = 1;
  if (rank == 0) {
    const std::vector<Result> results =
        ranks > 1 ? lead(ranks - 1, tasks, size, static_cast<int>(posted)) : alone(tasks, size);
    const Result* best = results.data();
    double sum = 0.0;
    for (const Result& result : results) {
      if (result.chain > best->chain) best = &result;
      sum += result.sum;
    }
    const std::uint64_t state = digest(DIGEST_START, results.data(), results.size() * sizeof(Result));
    printf("master_worker: %ld tasks, longest chain %lld from %lld, sum %.17g, digest %016llx\n", tasks,
           static_cast<long long>(best->chain), static_cast<long long>(best->best), sum,
           static_cast<unsigned long long>(state));
    if (check) {
      const std::vector<Result> expected = alone(tasks, size);
      good = memcmp(expected.data(), results.data(), results.size() * sizeof(Result)) == 0;
    }
  } else {
    follow();
  }
  const int code = verdict(rank, check, good);
  MPI_Finalize();
  return code;
}
