// How floating point rounds: part of what an arithmetic operation computes, and the program may change it at any time.
#pragma once
#include <cfenv>
#include <cstdint>

namespace hf {

class FloatMode {
 public:
  static FloatMode current() {
    FloatMode mode;
#ifdef __x86_64__
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mode.vector_), "=m"(mode.x87_));
    mode.vector_ &= ~flags;
#else
    mode.rounding_ = std::fegetround();
#endif
    return mode;
  }
  bool operator==(const FloatMode&) const = default;

 private:
  friend class WithFloatMode;
  void apply() const {
#ifdef __x86_64__
    std::uint32_t now;
    asm volatile("stmxcsr %0" : "=m"(now));
    now = vector_ | (now & flags);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(now), "m"(x87_));
#else
    std::fesetround(rounding_);
#endif
  }

#ifdef __x86_64__
  static constexpr std::uint32_t flags = 0x3f;  // of exceptions that have been raised
  std::uint32_t vector_ = 0;
  std::uint16_t x87_ = 0;
#else
  int rounding_ = 0;
#endif
};

// That mode while it lives; then the one that was there before, with what was raised meanwhile.
class WithFloatMode {
 public:
  explicit WithFloatMode(const FloatMode& mode) : before_(FloatMode::current()), differs_(mode != before_) {
    if (differs_) [[unlikely]] mode.apply();
  }
  ~WithFloatMode() {
    if (differs_) [[unlikely]] before_.apply();
  }
  WithFloatMode(const WithFloatMode&) = delete;
  WithFloatMode& operator=(const WithFloatMode&) = delete;

 private:
  FloatMode before_;
  bool differs_;
};

}  // namespace hf
