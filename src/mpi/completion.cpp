// Wait and Test in all forms (MPI 5.0, 3.7.3 to 3.7.6).
//
// A test asks the engine what to do (Engine::begin_test). `free`: it looks, and tells what it found. `exactly`: this is a
// replay, and the predecessor found those; they are waited for, and nothing else is reported. `nothing`: the predecessor
// found nothing; still one pass of progress is made, lest a replay starve its peers. A call that has nothing live to look
// at is not a test: its outcome is a function of the program.
#include "mpi/completion.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "mpi/api.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int complete_request(Process& p, Request*& request, Status& status) {
  Request& done = *request;
  int code = done.finish(p, status);
  const int retired = done.retire(p);
  if (!code) code = retired;
  if (__builtin_expect(code != success, 0)) p.blame(done.comm);
  if (done.persistent) {
    done.active = false;
  } else {
    release(request);
    request = nullptr;
  }
  return code;
}

namespace {

using Plan = engine::Engine::TestPlan;
using Index = std::int32_t;
constexpr Index first_index[] = {0};  // what a test of one thing, a single request or `all`, records as found

bool any_live(std::span<Request* const> requests) { return std::ranges::any_of(requests, is_live); }

bool all_done(std::span<Request* const> requests) {
  return std::ranges::all_of(requests, [](const Request* r) { return !is_live(r) || r->done(); });
}

// The first that is done, in the order of the array; -1: none.
Index find_done(std::span<Request* const> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (is_live(requests[i]) && requests[i]->done()) return static_cast<Index>(i);
  }
  return -1;
}

// All that are done, in the order of the array.
int collect_done(std::span<Request* const> requests, int* indices) {
  int count = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (is_live(requests[i]) && requests[i]->done()) indices[count++] = static_cast<int>(i);
  }
  return count;
}

Rank awaited_of(std::span<Request* const> requests) {
  std::optional<Rank> whom;
  for (const Request* request : requests) {
    if (is_live(request)) whom = whom ? segment::both(*whom, request->awaits()) : request->awaits();
  }
  return whom.value_or(segment::no_rank);
}

void wait_for(Process& p, const Request& request) {
  if (!request.done()) p.engine->wait([&] { return request.done(); }, [&] { return request.awaits(); });
}

[[noreturn, gnu::cold]] void diverged(Process& p, const char* what) {
  p.engine->abort(1, fmt::format("replay diverged at MPI call {}: {}. The program's calls differ from those of its earlier "
                                 "incarnation; what makes them differ is not covered by the event log",
                                 p.engine->call_number(), what));
}

// Waits for what the predecessor's test found; the requests must be there.
void wait_recorded(Process& p, std::span<Request* const> requests, std::span<const Index> which) {
  for (Index i : which) {
    if (i < 0 || static_cast<std::size_t>(i) >= requests.size() || !is_live(requests[static_cast<std::size_t>(i)])) {
      diverged(p, "a completion test found a request that is not there");
    }
    wait_for(p, *requests[static_cast<std::size_t>(i)]);
  }
}

// One test of whether everything in `requests` is done; at least one is live.
bool test_all(Process& p, std::span<Request* const> requests) {
  const Plan plan = p.engine->begin_test();
  if (plan.kind == Plan::nothing) {
    p.engine->progress();
    return false;
  }
  if (plan.kind == Plan::exactly) {
    for (const Request* request : requests) {
      if (is_live(request)) wait_for(p, *request);
    }
    return true;
  }
  bool done = all_done(requests);
  if (!done) {
    p.engine->progress();
    done = all_done(requests);
  }
  p.engine->end_test(done ? std::span<const Index>(first_index) : std::span<const Index>());
  return done;
}

// One test for the first that is done; -1: none. `wait`: as MPI_Waitany, until there is one.
Index test_any(Process& p, std::span<Request* const> requests, bool wait) {
  const Plan plan = p.engine->begin_test();
  if (plan.kind == Plan::nothing) {
    if (wait) diverged(p, "a waiting call stands where a completion test found nothing");
    p.engine->progress();
    return -1;
  }
  if (plan.kind == Plan::exactly) {
    if (plan.which.size() != 1) diverged(p, "a completion test of another kind was recorded here");
    const Index index = plan.which[0];
    wait_recorded(p, requests, {&index, 1});
    return index;
  }
  Index found = find_done(requests);
  if (found < 0 && wait) {
    p.engine->wait([&] { return (found = find_done(requests)) >= 0; }, [&] { return awaited_of(requests); });
  } else if (found < 0) {
    p.engine->progress();
    found = find_done(requests);
  }
  p.engine->end_test(found < 0 ? std::span<const Index>() : std::span<const Index>(&found, 1));
  return found;
}

// One test for all that are done; returns how many, their indices in the order of the array. `wait`: as MPI_Waitsome.
int test_some(Process& p, std::span<Request* const> requests, int* indices, bool wait) {
  const Plan plan = p.engine->begin_test();
  if (plan.kind == Plan::nothing) {
    if (wait) diverged(p, "a waiting call stands where a completion test found nothing");
    p.engine->progress();
    return 0;
  }
  if (plan.kind == Plan::exactly) {
    if (plan.which.size() > requests.size()) diverged(p, "a completion test found more requests than there are");
    const auto count = static_cast<int>(plan.which.size());
    std::ranges::copy(plan.which, indices);
    wait_recorded(p, requests, {indices, static_cast<std::size_t>(count)});
    return count;
  }
  p.engine->progress();
  int count = collect_done(requests, indices);
  if (count == 0 && wait) {
    p.engine->wait([&] { return find_done(requests) >= 0; }, [&] { return awaited_of(requests); });
    count = collect_done(requests, indices);
  }
  p.engine->end_test({indices, static_cast<std::size_t>(count)});
  return count;
}

void set(Status* status, const Status& made) {
  if (status) *status = made;
}

int complete_one(Process& p, Request*& request, Status* status) {
  Status made;
  const int code = complete_request(p, request, made);
  set(status, made);
  return code;
}

// Error codes of several completions (MPI 5.0, 3.7.5): each status has its own, the call returns MPI_ERR_IN_STATUS.
class Several {
 public:
  Several(Process& p, std::span<Status> statuses) : p_(p), statuses_(statuses) {}
  void add(std::size_t slot, const Status& made, int code) {
    if (code && !failed_) {
      failed_ = true;
      first_ = p_.take_explanation();
    }
    if (slot >= statuses_.size()) return;
    statuses_[slot] = made;
    statuses_[slot].error = code;
  }
  int result() {
    if (!failed_) return success;
    return p_.explain(err_in_status, std::move(first_));
  }

 private:
  Process& p_;
  std::span<Status> statuses_;
  bool failed_ = false;
  std::string first_;  // what is said about the first failure
};

int complete_all(Process& p, std::span<Request*> requests, std::span<Status> statuses) {
  Several outcome(p, statuses);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Status made;
    const int code = is_live(requests[i]) ? complete_request(p, requests[i], made) : success;
    outcome.add(i, made, code);
  }
  return outcome.result();
}

int complete_some(Process& p, std::span<Request*> requests, int count, const int* indices, std::span<Status> statuses) {
  Several outcome(p, statuses);
  for (int i = 0; i < count; ++i) {
    Status made;
    const int code = complete_request(p, requests[static_cast<std::size_t>(indices[i])], made);
    outcome.add(static_cast<std::size_t>(i), made, code);
  }
  return outcome.result();
}

int finish_some(Process& p, std::span<Request* const> requests, int count, const int* indices, std::span<Status> statuses) {
  Several outcome(p, statuses);
  for (int i = 0; i < count; ++i) {
    Request& request = *requests[static_cast<std::size_t>(indices[i])];
    Status made;
    const int code = request.finish(p, made);
    if (code) p.blame(request.comm);
    outcome.add(static_cast<std::size_t>(i), made, code);
  }
  return outcome.result();
}

}  // namespace

int wait(Process& p, Request*& request, Status* status) {
  if (!is_live(request)) {
    set(status, {});
    return success;
  }
  wait_for(p, *request);
  return complete_one(p, request, status);
}

int waitall(Process& p, int, std::span<Request*> requests, std::span<Status> statuses) {
  for (const Request* request : requests) {
    if (is_live(request)) wait_for(p, *request);
  }
  return complete_all(p, requests, statuses);
}

int waitany(Process& p, int, std::span<Request*> requests, int& index, Status* status) {
  if (!any_live(requests)) {
    index = undefined;
    set(status, {});
    return success;
  }
  index = test_any(p, requests, true);
  return complete_one(p, requests[static_cast<std::size_t>(index)], status);
}

int waitsome(Process& p, int, std::span<Request*> requests, int& outcount, int* indices, std::span<Status> statuses) {
  if (!any_live(requests)) {
    outcount = undefined;
    return success;
  }
  outcount = test_some(p, requests, indices, true);
  return complete_some(p, requests, outcount, indices, statuses);
}

int test(Process& p, Request*& request, int& flag, Status* status) {
  if (!is_live(request)) {
    flag = 1;
    set(status, {});
    return success;
  }
  flag = test_all(p, {&request, 1});
  return flag ? complete_one(p, request, status) : success;
}

int testall(Process& p, int, std::span<Request*> requests, int& flag, std::span<Status> statuses) {
  flag = !any_live(requests) || test_all(p, requests);
  return flag ? complete_all(p, requests, statuses) : success;
}

int testany(Process& p, int, std::span<Request*> requests, int& index, int& flag, Status* status) {
  if (!any_live(requests)) {
    flag = 1;
    index = undefined;
    set(status, {});
    return success;
  }
  const Index found = test_any(p, requests, false);
  flag = found >= 0;
  index = flag ? found : undefined;
  return flag ? complete_one(p, requests[static_cast<std::size_t>(found)], status) : success;
}

int testsome(Process& p, int, std::span<Request*> requests, int& outcount, int* indices, std::span<Status> statuses) {
  if (!any_live(requests)) {
    outcount = undefined;
    return success;
  }
  outcount = test_some(p, requests, indices, false);
  return complete_some(p, requests, outcount, indices, statuses);
}

int request_get_status(Process& p, Request* request, int& flag, Status* status) {
  Status made;
  int code = success;
  flag = !is_live(request) || test_all(p, {&request, 1});
  if (!flag) return success;
  if (is_live(request)) code = request->finish(p, made);
  if (code) p.blame(request->comm);
  set(status, made);
  return code;
}

int request_get_status_all(Process& p, int, std::span<Request* const> requests, int& flag, std::span<Status> statuses) {
  flag = !any_live(requests) || test_all(p, requests);
  if (!flag) return success;
  Several outcome(p, statuses);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Status made;
    const int code = is_live(requests[i]) ? requests[i]->finish(p, made) : success;
    if (code) p.blame(requests[i]->comm);
    outcome.add(i, made, code);
  }
  return outcome.result();
}

int request_get_status_any(Process& p, int, std::span<Request* const> requests, int& index, int& flag, Status* status) {
  if (!any_live(requests)) {
    flag = 1;
    index = undefined;
    set(status, {});
    return success;
  }
  const Index found = test_any(p, requests, false);
  flag = found >= 0;
  index = flag ? found : undefined;
  if (!flag) return success;
  Request& request = *requests[static_cast<std::size_t>(found)];
  Status made;
  const int code = request.finish(p, made);
  if (code) p.blame(request.comm);
  set(status, made);
  return code;
}

int request_get_status_some(Process& p, int, std::span<Request* const> requests, int& outcount,
                            int* indices, std::span<Status> statuses) {
  if (!any_live(requests)) {
    outcount = undefined;
    return success;
  }
  outcount = test_some(p, requests, indices, false);
  return finish_some(p, requests, outcount, indices, statuses);
}

}  // namespace hf::mpi
