// A call on another stack. What unwinds (exceptions, debuggers) finds its way back.
#pragma once

namespace hf {

// call(argument) on the stack that ends at `stack`, a multiple of 16; on this one where it is not written for the processor.
[[gnu::visibility("hidden")]] void call_on_stack(void* stack, void (*call)(void*), void* argument);

}  // namespace hf
