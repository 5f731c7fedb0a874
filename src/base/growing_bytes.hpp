// Bytes that become more and more, perhaps gigabytes: growing moves their pages, where the C library can, and not their contents, as a vector
// would, which takes a second for a gigabyte.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/bytes.hpp"

namespace hf {

class GrowingBytes {
 public:
  GrowingBytes() = default;
  ~GrowingBytes() { std::free(data_); }
  GrowingBytes(const GrowingBytes& other) { append(other.view()); }
  GrowingBytes(GrowingBytes&& other) noexcept { swap(other); }
  GrowingBytes& operator=(GrowingBytes other) noexcept {
    swap(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  Bytes view() const { return {data_, size_}; }  // until the next change
  void append(Bytes more) {
    if (more.size() > room_ - size_) grow(size_ + more.size());
    if (!more.empty()) std::memcpy(data_ + size_, more.data(), more.size());
    size_ += more.size();
  }
  void shorten(std::size_t size) {
    if (size < size_) size_ = size;
  }

 private:
  void swap(GrowingBytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }
  void grow(std::size_t least) {
    const std::size_t room = std::max(least, room_ + room_ / 2);
    void* moved = std::realloc(data_, room);
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(moved);
    room_ = room;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace hf
