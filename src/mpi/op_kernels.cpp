#include "mpi/op_kernels.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hf::mpi {
namespace {

// An element at any address.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

template <class T, class Function>
void loop(const void* in, void* inout, Count count) {
  const auto* __restrict from = static_cast<const Loose<T>*>(in);
  auto* __restrict to = static_cast<Loose<T>*>(inout);
  for (Count i = 0; i < count; ++i) {
    const T a = from[i].value, b = to[i].value;
    to[i].value = Function::apply(a, b);
  }
}

// Integers wrap around: computed without sign and at least as wide as int.
template <class T>
struct WrappingOf {
  using Type = std::conditional_t<sizeof(T) == 16, unsigned __int128,
                                  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;
};

template <bool is_integer>
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
template <bool is_integer>
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
template <bool is_integer>
struct Sum {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_integer) {
      using Wrapping = typename WrappingOf<T>::Type;
      return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    } else {
      return a + b;
    }
  }
};
template <bool is_integer>
struct Product {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (is_integer) {
      using Wrapping = typename WrappingOf<T>::Type;
      return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    } else {
      return a * b;
    }
  }
};

struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct BitAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

// Of equal values the lower index (MPI 5.0, 6.9.4).
struct MaxLocation {
  template <class P>
  static P apply(P a, P b) {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return a.value > b.value ? a : b;
  }
};
struct MinLocation {
  template <class P>
  static P apply(P a, P b) {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return a.value < b.value ? a : b;
  }
};

template <class T, bool is_integer>
constexpr OpKernel ordered(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::max:
      return loop<T, Max<is_integer>>;
    case Op::Kind::min:
      return loop<T, Min<is_integer>>;
    case Op::Kind::sum:
      return loop<T, Sum<is_integer>>;
    case Op::Kind::prod:
      return loop<T, Product<is_integer>>;
    default:
      return nullptr;
  }
}

template <class T>
constexpr OpKernel bitwise(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::band:
      return loop<T, BitAnd>;
    case Op::Kind::bor:
      return loop<T, BitOr>;
    case Op::Kind::bxor:
      return loop<T, BitXor>;
    default:
      return nullptr;
  }
}

template <class T>
constexpr OpKernel logical(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::land:
      return loop<T, LogicalAnd>;
    case Op::Kind::lor:
      return loop<T, LogicalOr>;
    case Op::Kind::lxor:
      return loop<T, LogicalXor>;
    default:
      return nullptr;
  }
}

template <class T>
constexpr OpKernel integer(Op::Kind kind) {
  if (OpKernel kernel = ordered<T, true>(kind)) return kernel;
  if (OpKernel kernel = bitwise<T>(kind)) return kernel;
  return logical<T>(kind);
}

template <class T>
constexpr OpKernel complex(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::sum:
      return loop<Complex<T>, Sum<false>>;
    case Op::Kind::prod:
      return loop<Complex<T>, Product<false>>;
    default:
      return nullptr;
  }
}

template <class Value, class Index>
constexpr OpKernel location(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::maxloc:
      return loop<Pair<Value, Index>, MaxLocation>;
    case Op::Kind::minloc:
      return loop<Pair<Value, Index>, MinLocation>;
    default:
      return nullptr;
  }
}

constexpr OpKernel number_kernel(Op::Kind kind, Basic basic) {
  switch (basic) {
    case Basic::int8:
      return integer<std::int8_t>(kind);
    case Basic::int16:
      return integer<std::int16_t>(kind);
    case Basic::int32:
      return integer<std::int32_t>(kind);
    case Basic::int64:
    case Basic::aint:
    case Basic::count:
    case Basic::offset:
      return integer<std::int64_t>(kind);
    case Basic::int128:
      return integer<__int128>(kind);
    case Basic::uint8:
      return integer<std::uint8_t>(kind);
    case Basic::uint16:
      return integer<std::uint16_t>(kind);
    case Basic::uint32:
      return integer<std::uint32_t>(kind);
    case Basic::uint64:
      return integer<std::uint64_t>(kind);
    case Basic::float16:
      return ordered<_Float16, false>(kind);
    case Basic::float32:
      return ordered<float, false>(kind);
    case Basic::float64:
      return ordered<double, false>(kind);
    case Basic::float80:
      return ordered<long double, false>(kind);
    case Basic::float128:
      return ordered<__float128, false>(kind);
    case Basic::complex32:
      return complex<_Float16>(kind);
    case Basic::complex64:
      return complex<float>(kind);
    case Basic::complex128:
      return complex<double>(kind);
    case Basic::complex160:
      return complex<long double>(kind);
    case Basic::complex256:
      return complex<__float128>(kind);
    default:
      return nullptr;
  }
}

constexpr OpKernel kernel_of(Op::Kind kind, Basic basic) {
  switch (basic) {
    case Basic::byte:
      return bitwise<std::uint8_t>(kind);
    case Basic::boolean:
    case Basic::logical8:
      return logical<std::uint8_t>(kind);
    case Basic::logical16:
      return logical<std::uint16_t>(kind);
    case Basic::logical32:
      return logical<std::uint32_t>(kind);
    case Basic::logical64:
      return logical<std::uint64_t>(kind);
    case Basic::logical128:
      return logical<unsigned __int128>(kind);
    case Basic::float_int:
      return location<float, int>(kind);
    case Basic::double_int:
      return location<double, int>(kind);
    case Basic::long_int:
      return location<long, int>(kind);
    case Basic::int_int:
    case Basic::int_int_fortran:
      return location<int, int>(kind);
    case Basic::short_int:
      return location<short, int>(kind);
    case Basic::long_double_int:
      return location<long double, int>(kind);
    case Basic::float_float:
      return location<float, float>(kind);
    case Basic::double_double:
      return location<double, double>(kind);
    default:
      return number_kernel(kind, basic);
  }
}

constexpr auto all_kernels() {
  std::array<std::array<OpKernel, basic_count>, op_kind_count> all{};
  for (std::size_t kind = 0; kind < op_kind_count; ++kind) {
    for (std::size_t basic = 0; basic < basic_count; ++basic) {
      all[kind][basic] = kernel_of(static_cast<Op::Kind>(kind), static_cast<Basic>(basic));
    }
  }
  return all;
}

}  // namespace

constinit const std::array<std::array<OpKernel, basic_count>, op_kind_count> op_kernels = all_kernels();

}  // namespace hf::mpi
