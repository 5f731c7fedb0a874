// MPI_Dims_create (MPI 5.0, 8.5.2).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// Divides n into dimensions that are as close to each other as possible, in descending order (8.5.2).
class Balance {
 public:
  Balance(int n, int dimensions) {
    for (int d = 1; static_cast<Count>(d) * d <= n; ++d) {
      if (n % d) continue;
      divisors_.push_back(d);
      if (d != n / d) divisors_.push_back(n / d);
    }
    std::ranges::sort(divisors_);
    choose(n, dimensions, n);
  }
  const std::vector<int>& best() const { return best_; }

 private:
  // Takes the largest of the remaining dimensions, from the smallest that it can be upwards.
  void choose(int n, int remaining, int limit) {
    if (remaining == 1) {
      if (n > limit) return;
      chosen_.push_back(n);
      if (best_.empty() || spread(chosen_) < spread(best_)) best_ = chosen_;
      chosen_.pop_back();
      return;
    }
    for (int d : divisors_) {
      if (d > limit) break;
      if (n % d || d < root(n, remaining)) continue;  // smaller ones could not be the largest
      const int first = chosen_.empty() ? d : chosen_.front();
      if (!best_.empty() && first - root(n / d, remaining - 1) >= spread(best_)) break;  // nor are larger ones better
      chosen_.push_back(d);
      choose(n / d, remaining - 1, d);
      chosen_.pop_back();
    }
  }
  // The largest r with r^k <= n.
  static int root(int n, int k) {
    int r = static_cast<int>(std::pow(static_cast<double>(n), 1.0 / k)) + 1;
    while (r > 1 && !fits(r, k, n)) --r;
    return r;
  }
  static bool fits(Count r, int k, int n) {
    Count power = 1;
    for (int i = 0; i < k; ++i) {
      power *= r;
      if (power > n) return false;
    }
    return true;
  }
  static int spread(const std::vector<int>& dims) { return dims.front() - dims.back(); }

  std::vector<int> divisors_, chosen_, best_;
};

}  // namespace

int dims_create(Process& p, int nnodes, int ndims, int* dims) {
  if (nnodes < 1) return p.explain(err_arg, fmt::format("nnodes is {}, it must be positive", nnodes));
  int rest = nnodes, open = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return p.explain(err_dims, fmt::format("dims[{}] is {}, it must not be negative", i, dims[i]));
    if (dims[i] == 0) {
      ++open;
    } else if (rest % dims[i]) {
      return p.explain(err_dims, fmt::format("{} nodes cannot be divided by the given dimensions", nnodes));
    } else {
      rest /= dims[i];
    }
  }
  if (open == 0) {
    if (rest == 1 || ndims == 0) return success;
    return p.explain(err_dims, fmt::format("the given dimensions do not make {} nodes", nnodes));
  }
  const Balance balance(rest, open);
  for (int i = 0, next = 0; i < ndims; ++i) {
    if (dims[i] == 0) dims[i] = balance.best()[static_cast<std::size_t>(next++)];
  }
  return success;
}

}  // namespace hf::mpi
