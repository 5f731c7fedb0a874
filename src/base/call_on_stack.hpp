// A call on another stack. What unwinds (exceptions, debuggers) finds its way back.
#pragma once
#include <type_traits>

namespace hf {

// call(argument) on the stack that ends at `stack`, a multiple of 16; on this one where it is not written for the processor.
[[gnu::visibility("hidden")]] void call_on_stack(void* stack, void (*call)(void*), void* argument);

// The same of anything that can be called, with its result.
template <class Work>
auto call_on_stack(void* stack, Work&& work) {
  using Result = std::invoke_result_t<Work&>;
  if constexpr (std::is_void_v<Result>) {
    call_on_stack(stack, [](void* it) { (*static_cast<std::remove_reference_t<Work>*>(it))(); }, &work);
  } else {
    Result result{};
    auto keep = [&] { result = work(); };
    call_on_stack(stack, [](void* it) { (*static_cast<decltype(keep)*>(it))(); }, &keep);
    return result;
  }
}

}  // namespace hf
