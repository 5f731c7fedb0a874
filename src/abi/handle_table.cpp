#include "abi/handle_table.hpp"

namespace hf::abi {

HandleNumber HandleTable::add(Kind kind, void* object) {
  const std::size_t k = static_cast<std::size_t>(kind);
  std::vector<Slot>& slots = slots_[k];
  std::uint32_t index = first_free_[k];
  if (index != no_slot) {
    first_free_[k] = slots[index].users;
  } else {
    if (slots.size() > index_mask) return 0;
    index = static_cast<std::uint32_t>(slots.size());
    slots.push_back({.number = static_cast<HandleNumber>(k) << 27 | index});
  }
  Slot& slot = slots[index];
  slot.object = object;
  slot.users = 1;
  return slot.number;
}

void HandleTable::drop(HandleNumber number) {
  Slot& slot = this->slot(number);
  if (--slot.users > 0) return;
  const std::size_t k = number >> 27;
  slot.object = nullptr;
  slot.number = (number & ~generation_mask) | ((number + generation_step) & generation_mask);
  slot.users = first_free_[k];
  first_free_[k] = number & index_mask;
}

}  // namespace hf::abi
