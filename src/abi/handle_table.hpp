// Numbers for the objects that a program has handles to. A number says its kind and is checked against its slot, so that
// a freed or invented handle is found out without touching the object.
//
// Number: kind (4 bits), generation of the slot (3 bits), slot (24 bits): at most 16,777,216 objects of a kind at a time.
#pragma once
#include <array>
#include <vector>

#include "abi/kinds.hpp"

namespace hf::abi {

inline constexpr HandleNumber dynamic_numbers = HandleNumber{1} << 27;

class HandleTable {
 public:
  // The object of a number; null when there is none of that kind.
  void* find(Kind kind, HandleNumber number) const {
    const std::vector<Slot>& slots = slots_[static_cast<std::size_t>(kind)];
    const std::size_t index = number & index_mask;
    if (index >= slots.size() || slots[index].number != number) return nullptr;
    return slots[index].object;
  }

  // A number for an object that has none. The program's first handle. 0: there is no slot left.
  HandleNumber add(Kind kind, void* object);
  // One more handle of the program to the same object (several calls may return the same object).
  void share(HandleNumber number) { ++slot(number).users; }
  // The program gave one handle back; with the last one the number is free.
  void drop(HandleNumber number);

 private:
  static constexpr HandleNumber index_mask = (HandleNumber{1} << 24) - 1;
  static constexpr HandleNumber generation_step = HandleNumber{1} << 24, generation_mask = HandleNumber{7} << 24;
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

  struct Slot {
    void* object = nullptr;    // null: free
    HandleNumber number = 0;   // free: the number it will have next
    std::uint32_t users = 0;   // handles the program holds; free: the next free slot
  };

  Slot& slot(HandleNumber number) { return slots_[number >> 27][number & index_mask]; }

  std::array<std::vector<Slot>, kind_count> slots_;
  std::array<std::uint32_t, kind_count> first_free_ = filled();
  static constexpr std::array<std::uint32_t, kind_count> filled() {
    std::array<std::uint32_t, kind_count> all{};
    all.fill(no_slot);
    return all;
  }
};

}  // namespace hf::abi
