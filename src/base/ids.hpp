// Strong types for the numbers that must never be confused. All are plain values; comparison and hashing only.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace hf {

template <class Name, class T>
struct Strong {
  using value_type = T;
  T value{};
  constexpr Strong() = default;
  constexpr explicit Strong(T v) : value(v) {}
  constexpr auto operator<=>(const Strong&) const = default;
  constexpr Strong& operator++() {
    ++value;
    return *this;
  }
  constexpr Strong next() const { return Strong(static_cast<T>(value + 1)); }
};

using Rank = Strong<struct RankName, std::int32_t>;                // job-wide number of a rank (MPI_COMM_WORLD's)
using NodeId = Strong<struct NodeIdName, std::int32_t>;            // number of an agent, 0 .. nodes-1
using Incarnation = Strong<struct IncarnationName, std::uint32_t>; // times the rank has been started, from 0
using Context = Strong<struct ContextName, std::uint64_t>;         // one message space (docs/contexts.md)
using Sequence = Strong<struct SequenceName, std::uint64_t>;       // n-th message source -> destination in a context, from 0
using MessageTag = Strong<struct MessageTagName, std::int32_t>;    // MPI tag
using RequestNumber = Strong<struct RequestNumberName, std::uint64_t>;  // n-th receive or probe posted by the program
using TestClock = Strong<struct TestClockName, std::uint64_t>;     // n-th non-deterministic completion test, from 1
using CallNumber = Strong<struct CallNumberName, std::uint64_t>;   // n-th MPI call of the program, from 1
using StreamPosition = Strong<struct StreamPositionName, std::uint64_t>;  // byte offset in a log stream
using Term = Strong<struct TermName, std::uint32_t>;               // times the rank has been moved to another agent
using Generation = Strong<struct GenerationName, std::uint32_t>;   // times an agent was given a holder of its ranks' events
using ViewVersion = Strong<struct ViewVersionName, std::uint32_t>;  // n-th decision of the head about who is dead, from 1; 0: none
using ControlSequence = Strong<struct ControlSequenceName, std::uint64_t>;  // n-th message of one stream of the agents' tree, from 0
using Instant = Strong<struct InstantName, std::int64_t>;          // nanoseconds of the monotonic clock

inline constexpr Rank any_rank{-1};
inline constexpr NodeId head_node{-1};  // the head among the agents
inline constexpr MessageTag any_tag{INT32_MIN};

}  // namespace hf

template <class Name, class T>
struct std::hash<hf::Strong<Name, T>> {
  std::size_t operator()(const hf::Strong<Name, T>& v) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(v.value) * 0x9e3779b97f4a7c15u);
  }
};
