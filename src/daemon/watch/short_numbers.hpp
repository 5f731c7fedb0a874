// Numbers for tables that people read: at most 5 characters, as far as numbers go.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace hf::daemon {

std::string short_count(double value);  // 0, 9999, 12.3k, 456k, 1.23M; thousands
std::string short_bytes(double value);  // 0, 9999, 12.3K, 456K, 1.23M; of 1024
std::string short_time(double seconds);  // 0.012s, 9.99s, 99.9s, 12m03s, 5h07m, 12d03h
std::string number_or_dash(std::optional<std::uint64_t> number);
std::string plural(std::uint64_t n, const char* what);  // "1 rank", "2 ranks"

// `text` on one line of a terminal, whole characters up to so many bytes: control characters and what is no UTF-8 are replaced by '?'.
std::string printable(std::string text, std::size_t bytes_max = SIZE_MAX);

}  // namespace hf::daemon
