// A shared mapping of a file or memfd; unmapped by the destructor.
#pragma once
#include "base/bytes.hpp"
#include <utility>

#include "base/result.hpp"

namespace hf::os {

class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  // Maps the whole file (its size now), or `bytes` of it.
  static Result<Mapping> map(int fd, bool writable, std::size_t bytes = 0);
  MutableBytes bytes() const { return bytes_; }  // writing to a read-only mapping is a fault
  explicit operator bool() const { return !bytes_.empty(); }
  void populate();  // enters all pages into the page tables of this process, allocating those that are missing
  MutableBytes release() { return std::exchange(bytes_, {}); }  // stays mapped for ever

 private:
  MutableBytes bytes_;
};

}  // namespace hf::os
