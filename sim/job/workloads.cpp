#include "sim/job/workloads.hpp"

#include <algorithm>

#include "sim/job/kernels.hpp"
#include "sim/job/traffic_plan.hpp"
#include "sim/job/process.hpp"
#include "sim/job/random.hpp"

namespace hf::sim::job {
namespace {

using Requests = std::vector<Request*>;
using Kind = Process::TestKind;

// What a program draws is the same in every run of the seed, whatever the order of messages.
class Script {
 public:
  Script(const JobOptions& options, int rank) : seed_(options.seed), rank_(static_cast<std::uint64_t>(rank)) {}
  std::uint64_t of_job(std::uint64_t step, std::uint64_t what = 0) const { return job::of_job(seed_, step, what); }
  std::uint64_t mine(std::uint64_t step, std::uint64_t what = 0) const { return mix(of_job(step, what), rank_ + 1); }
  std::int64_t pause(std::uint64_t step) const {
    const std::uint64_t h = mine(step, 77);
    return static_cast<std::int64_t>(h % 8 == 0 ? 1000 + h / 8 % 200'000 : 100 + h / 8 % 2000);
  }
  static SendMode mode(std::uint64_t h) {
    return h % 5 == 0 ? SendMode::large : h % 7 == 0 ? SendMode::synchronous : SendMode::small;
  }

 private:
  std::uint64_t seed_, rank_;
};

Program ring(JobOptions options, Process& mpi) {
  const Script script(options, mpi.rank());
  const int n = mpi.ranks(), next = (mpi.rank() + 1) % n, previous = (mpi.rank() + n - 1) % n;
  std::uint64_t value = script.mine(0);
  for (int step = 0; step < options.steps; ++step) {
    const auto s = static_cast<std::uint64_t>(step);
    if (mpi.rank() == 0) co_await mpi.wait(mpi.isend(next, 0, 1, mix(value, s), Script::mode(script.mine(s))));
    const Received got = co_await mpi.wait(mpi.irecv(previous, 0, 1));
    value = mix(value, got.value);
    if (script.mine(s, 1) % 4 == 0) co_await mpi.compute(script.pause(s));
    if (mpi.rank() != 0) co_await mpi.wait(mpi.isend(next, 0, 1, mix(value, s), Script::mode(script.mine(s))));
    if (script.mine(s, 2) % 3 == 0) mpi.print(value);
  }
  co_return value;
}

Program stencil(JobOptions options, Process& mpi) {
  const Script script(options, mpi.rank());
  const int n = mpi.ranks(), right = (mpi.rank() + 1) % n, left = (mpi.rank() + n - 1) % n;
  std::uint64_t value = script.mine(0);
  for (int step = 0; step < options.steps; ++step) {
    const auto s = static_cast<std::uint64_t>(step);
    Request* from_left = mpi.irecv(left, 0, 1);
    Request* from_right = mpi.irecv(right, 0, 2);
    Request* to_right = mpi.isend(right, 0, 1, mix(value, 2 * s), Script::mode(script.mine(s, 1)));
    Request* to_left = mpi.isend(left, 0, 2, mix(value, 2 * s + 1), Script::mode(script.mine(s, 2)));
    co_await mpi.compute(script.pause(s));
    const Received a = co_await mpi.wait(from_left);
    const Received b = co_await mpi.wait(from_right);
    co_await mpi.wait(to_right);
    co_await mpi.wait(to_left);
    value = mix(mix(value, a.value), b.value);
    if (script.mine(s, 3) % 3 == 0) mpi.print(value);
  }
  co_return value;
}

// Sweeps over a grid: from the north and the west to the south and the east.
Program wavefront(JobOptions options, Process& mpi) {
  const Script script(options, mpi.rank());
  int width = 1;
  while ((width + 1) * (width + 1) <= mpi.ranks()) ++width;
  const int x = mpi.rank() % width, y = mpi.rank() / width;
  const bool south = mpi.rank() + width < mpi.ranks(), east = x + 1 < width && mpi.rank() + 1 < mpi.ranks();
  std::uint64_t value = script.mine(0);
  for (int step = 0; step < options.steps; ++step) {
    const auto s = static_cast<std::uint64_t>(step);
    if (y > 0) {
      const Received got = co_await mpi.wait(mpi.irecv(mpi.rank() - width, 0, -1));
      value = mix(value, got.value);
    }
    if (x > 0) {
      const Received got = co_await mpi.wait(mpi.irecv(mpi.rank() - 1, 1, step % 3));
      value = mix(value, got.value);
    }
    if (script.mine(s, 3) % 4 == 0) co_await mpi.compute(script.pause(s));
    if (script.mine(s, 4) % 3 == 0) mpi.print(value);
    if (south) co_await mpi.wait(mpi.isend(mpi.rank() + width, 0, step % 3, mix(value, 2 * s), Script::mode(script.mine(s, 1))));
    if (east) co_await mpi.wait(mpi.isend(mpi.rank() + 1, 1, step % 3, mix(value, 2 * s + 1), Script::mode(script.mine(s, 2))));
  }
  co_return value;
}

// Rank 0 gives tasks to whoever has done one. What it sends depends on the order in which it was asked.
Program master(JobOptions options, Process& mpi) {
  constexpr int task = 1, end = 2;
  const Script script(options, 0);
  const int workers = mpi.ranks() - 1;
  const auto tasks = static_cast<std::uint64_t>(workers) * static_cast<std::uint64_t>(options.steps);
  std::uint64_t value = 1, given = 0;
  int ended = 0;
  Requests open;
  while (ended < workers) {
    // As many as there are messages still to come, so that none is left over.
    while (static_cast<int>(open.size()) < std::min(2, workers - ended)) open.push_back(mpi.irecv(-1, 0, -1));
    const Kind kind = mix(value, 5) % 3 == 0 ? Kind::wait_some : Kind::wait_any;
    const auto found = co_await mpi.test(open, kind);
    for (std::int32_t i : found) {
      const Received got = mpi.take(open[static_cast<std::size_t>(i)]);
      value = mix(value, mix(got.value, static_cast<std::uint64_t>(got.source.value)));
      const bool more = given < tasks;
      if (more) ++given;
      else ++ended;
      if (mix(value, 7) % 4 == 0) mpi.print(value);
      const SendMode mode = Script::mode(mix(value, 6));
      co_await mpi.wait(mpi.isend(got.source.value, 1, more ? task : end, value, mode));
      open[static_cast<std::size_t>(i)] = nullptr;
    }
    std::erase(open, nullptr);
  }
  co_return value;
}

Program worker(JobOptions options, Process& mpi) {
  constexpr int end = 2;
  const Script script(options, mpi.rank());
  std::uint64_t value = script.mine(0);
  for (std::uint64_t s = 0;; ++s) {
    co_await mpi.wait(mpi.isend(0, 0, static_cast<int>(s % 3), value, Script::mode(script.mine(s, 1))));
    const Received got = co_await mpi.wait(mpi.irecv(0, 1, -1));
    value = mix(value, got.value);
    if (got.tag.value == end) break;
    co_await mpi.compute(script.pause(s));
  }
  co_return value;
}

// Posts what concerns this rank. Returns how many messages it is to probe for.
int post_messages(Process& mpi, int step, std::uint64_t value, Requests& open) {
  const int self = mpi.rank();
  const std::uint64_t count = static_cast<std::uint64_t>(mpi.ranks()) * 3 / 2 + 1;
  int probes = 0;
  for (const auto [h, from, to] : mpi.plan().of(static_cast<std::uint64_t>(step), 100, count, self)) {
    const int context = static_cast<int>(h >> 32 & 3), tag = context == 1 ? step : static_cast<int>(h >> 36 & 1);
    if (to == self && context == 0) open.push_back(mpi.irecv(from, 0, h >> 40 & 1 ? tag : -1));
    const bool probed = context == 1 && (h >> 41 & 3) == 0;
    if (to == self && probed) ++probes;
    if (to == self && context == 1 && !probed) open.push_back(mpi.irecv(-1, 1, tag));
    if (to == self && context == 3) open.push_back(mpi.irecv(from, 3, -1));
    if (to == self && context == 2) open.push_back(mpi.irecv(-1, 2, -1));
    SendMode mode = Script::mode(h >> 44);
    // A receive from anybody may take a message of a later step: whoever waited for its own to be matched would wait for ever.
    if (context == 2 && mode == SendMode::synchronous) mode = SendMode::small;
    if (from == self) open.push_back(mpi.isend(to, context, tag, mix(value, h), mode));
  }
  return probes;
}

SendMode collective_mode(std::uint64_t h) { return h % 4 == 0 ? SendMode::large : SendMode::small; }

// Two collectives at most, everybody the same. All to all among few.
void start_collectives(const Script& script, Process& mpi, std::uint64_t step, std::uint64_t value, Requests& open) {
  const int kinds = mpi.ranks() <= 16 ? collectives : collectives - 1;
  for (std::uint64_t i = 0; i < script.of_job(step, 50) % 3; ++i) {
    const std::uint64_t h = script.of_job(step, 51 + i);
    const auto kind = static_cast<Collective>(h % static_cast<std::uint64_t>(kinds));
    const int root = static_cast<int>((h >> 20) % static_cast<std::uint64_t>(mpi.ranks()));
    open.push_back(mpi.icollective(kind, root, mix(value, i), collective_mode(h >> 40)));
  }
}

// Messages that are taken by Improbe alone: any of these steps will do. Returns how many come here.
int send_to_probes(Process& mpi, std::uint64_t step, std::uint64_t value, Requests& open) {
  const std::uint64_t first = 1'000'000, count = static_cast<std::uint64_t>(mpi.ranks()) / 2;
  int coming = 0;
  for (const auto [h, from, to] : mpi.plan().of(step, first, count, mpi.rank())) {
    if (to == mpi.rank()) ++coming;
    if (from == mpi.rank()) open.push_back(mpi.isend(to, 5, static_cast<int>(h >> 36 & 1), mix(value, h), collective_mode(h >> 44)));
  }
  return coming;
}

// Each step everybody knows who sends to whom; in which order that arrives and is found complete goes into all that is sent later.
// Context 0: named sources, context 1: any source with the step's tag, context 2: any source, any tag, context 3: named sources, any tag.
// Of context 1 some are probed for and received then; receives of contexts 2 and 3 may be cancelled, and are posted again if they were.
// Mixed: collectives are among what is tested for, and messages of context 5 are taken by Improbe.
Program traffic(JobOptions options, Process& mpi) {
  const Script script(options, mpi.rank());
  const bool mixed = options.workload == Workload::mixed;
  std::uint64_t value = script.mine(0);
  Requests open;
  for (int step = 0; step < options.steps; ++step) {
    const auto s = static_cast<std::uint64_t>(step);
    int probes = post_messages(mpi, step, value, open);
    int coming = mixed ? send_to_probes(mpi, s, value, open) : 0;
    if (mixed) start_collectives(script, mpi, s, value, open);
    if (script.mine(s, 1) % 3 == 0) co_await mpi.compute(script.pause(s));
    if (script.mine(s, 2) % 3 == 0) mpi.print(value);
    for (; probes > 0; --probes) {
      const bool take = mix(value, 11) % 2 == 0;
      const Process::Found found = take ? co_await mpi.mprobe(-1, 1, step) : co_await mpi.probe(-1, 1, step);
      value = mix(value, static_cast<std::uint64_t>(found.source.value));
      open.push_back(take ? found.request : mpi.irecv(found.source.value, 1, step));
    }
    std::uint64_t tries = 0;
    while (!open.empty() || coming > 0) {
      if (coming > 0 && (open.empty() || mix(value, tries + 3000) % 2 == 0)) {
        ++tries;
        const auto found = co_await mpi.improbe(-1, 5, mix(value, tries) % 4 == 0 ? 1 : -1);
        value = mix(value, found ? static_cast<std::uint64_t>(found->source.value) : tries);
        if (!found) co_await mpi.compute(script.pause(mix(s, tries)));
        if (!found) continue;
        --coming;
        open.push_back(found->request);
      }
      const std::uint64_t choice = mix(value, ++tries) % 8;
      if (mix(value, tries + 1000) % 8 == 0) {
        const auto found = co_await mpi.iprobe(-1, static_cast<int>(1 + value % 2), -1);
        value = mix(value, found.has_value());
      }
      Request*& any = open[mix(value, 12) % open.size()];
      const int in = static_cast<int>(any->context.value), from = any->any_source ? -1 : any->source.value;
      if (mix(value, tries + 2000) % 8 == 0 && !any->is_send && !any->is_collective && !any->cancel_asked && (in == 2 || in == 3)) {
        const bool cancelled = co_await mpi.cancel(any);
        if (cancelled) any = mpi.irecv(from, in, -1);
        value = mix(value, cancelled);
      }
      if (choice == 0) value = mix(value, static_cast<std::uint64_t>(mpi.time() * 1e9));
      if (choice <= 1) {
        const Received got = co_await mpi.wait(open.front());
        value = mix(value, got.value);
        open.erase(open.begin());
        continue;
      }
      const Kind kind = choice <= 3 ? Kind::test_some : choice == 4 ? Kind::test_any : choice <= 6 ? Kind::wait_any : Kind::wait_some;
      const auto found = co_await mpi.test(open, kind);
      value = mix(value, found.size());
      for (std::int32_t i : found) {
        const Received got = mpi.take(open[static_cast<std::size_t>(i)]);
        value = mix(value, mix(got.value, static_cast<std::uint64_t>(i)));
        open[static_cast<std::size_t>(i)] = nullptr;
      }
      std::erase(open, nullptr);
      if (found.empty()) co_await mpi.compute(script.pause(mix(s, tries)));
    }
  }
  co_return value;
}

// Collectives that overlap, tested for until they are complete: when they are found so must not show in the result.
Program reductions(JobOptions options, Process& mpi) {
  const Script script(options, mpi.rank());
  std::uint64_t value = script.mine(0);
  for (int step = 0; step < options.steps; ++step) {
    const auto s = static_cast<std::uint64_t>(step);
    Requests open;
    start_collectives(script, mpi, 2 * s, value, open);
    start_collectives(script, mpi, 2 * s + 1, value, open);
    std::vector<std::uint64_t> results(open.size());
    std::vector<std::size_t> names(open.size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = i;
    for (std::uint64_t tries = 0; !open.empty(); ++tries) {
      const std::uint64_t h = script.mine(mix(s, 100 + tries));
      const Kind kind = h % 4 == 0 ? Kind::wait_any : h % 4 == 1 ? Kind::test_any : Kind::test_some;
      const auto found = co_await mpi.test(open, kind);
      for (std::int32_t i : found) {
        const auto at = static_cast<std::size_t>(i);
        results[names[at]] = mpi.take(open[at]).value;
        open[at] = nullptr;
        names[at] = SIZE_MAX;
      }
      std::erase(open, nullptr);
      std::erase(names, SIZE_MAX);
      if (found.empty()) co_await mpi.compute(script.pause(mix(s, tries)));
    }
    for (const std::uint64_t result : results) value = mix(value, result);
    if (script.mine(s, 3) % 3 == 0) mpi.print(value);
  }
  co_return value;
}

}  // namespace

bool send_deterministic(Workload workload) {
  return workload == Workload::ring || workload == Workload::stencil || workload == Workload::wavefront ||
         workload == Workload::reductions;
}

const char* name_of(Workload workload) {
  static constexpr const char* names[] = {"ring", "stencil", "wavefront", "farm", "traffic", "mixed", "reductions", "any"};
  return names[static_cast<std::size_t>(workload)];
}

Program run_workload(const JobOptions& options, Process& mpi) {
  if (options.timing) return run_kernel(options, mpi);
  switch (options.workload) {
    case Workload::ring: return ring(options, mpi);
    case Workload::stencil: return stencil(options, mpi);
    case Workload::wavefront: return wavefront(options, mpi);
    case Workload::farm: return mpi.rank() == 0 ? master(options, mpi) : worker(options, mpi);
    case Workload::reductions: return reductions(options, mpi);
    default: return traffic(options, mpi);
  }
}

}  // namespace hf::sim::job
