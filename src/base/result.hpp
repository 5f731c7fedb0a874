// Result<T>: a value or an error text with the layer that is lost by it. Nothing below mpi/ throws.
#pragma once
#include <expected>
#include <string>
#include <utility>

namespace hf {

enum class Lost { operation, rail, peer, communicator, job };  // grouped by what is lost: recovery switches on it

struct Error {
  Lost lost = Lost::operation;
  std::string text;  // one line: what was wrong and what to do
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Lost lost, std::string text) { return std::unexpected(Error{lost, std::move(text)}); }
inline std::unexpected<Error> fail(std::string text) { return fail(Lost::operation, std::move(text)); }

}  // namespace hf
