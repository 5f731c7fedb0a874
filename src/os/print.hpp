// What a command prints. Not fmt::print: that throws where it cannot write (a full disk, a reader that is gone), which would abort the command
// and, in a head, its job.
#pragma once
#include <fmt/format.h>
#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "os/error_text.hpp"

namespace hf::os {

// To stderr. What cannot be written is lost: there is no other place where that could be said.
inline void write_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

template <class... Values>
void print_error(fmt::format_string<Values...> format, Values&&... values) {
  write_error(fmt::format(format, std::forward<Values>(values)...));
}

inline int output_error = 0;  // errno of the first write to stdout that failed and was not told yet

// To stdout. Whether it has left, flush_output says.
inline void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && output_error == 0) output_error = errno;
}

template <class... Values>
void print_output(fmt::format_string<Values...> format, Values&&... values) {
  write_output(fmt::format(format, std::forward<Values>(values)...));
}

// What was printed leaves now, not at the end: somebody waits for it.
inline void pass_output() {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
}

// An error: something that was printed since the last time has not left, and will not.
inline Result<> flush_output() {
  pass_output();
  const int code = std::exchange(output_error, 0);
  if (code == 0) return {};
  ::__fpurge(stdout);
  return fail(fmt::format("cannot write: {}", error_text(code)));
}

// At the end of a command, its exit code: one that has printed what nobody got has failed.
inline int finish_output(std::string_view command, int code) {
  Result<> flushed = flush_output();
  if (flushed) return code;
  print_error("{}: {}\n", command, flushed.error().text);
  return code == 0 ? 1 : code;
}

}  // namespace hf::os
