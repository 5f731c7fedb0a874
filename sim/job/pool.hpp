// Objects that stay in place and are used again.
#pragma once
#include <deque>
#include <vector>

namespace hf::sim::job {

template <class T>
class Pool {
 public:
  T& get() {
    if (free_.empty()) return all_.emplace_back();
    T* t = free_.back();
    free_.pop_back();
    *t = T{};
    return *t;
  }
  void put(T& t) { free_.push_back(&t); }

 private:
  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace hf::sim::job
