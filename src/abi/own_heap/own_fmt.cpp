// The one function of libfmt that the library calls, compiled into it: its strings are then of the library's own heap (own_heap.cpp).
#define FMT_HEADER_ONLY
#include <fmt/format.h>

[[gnu::used]] static auto* const own_vformat = static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(&fmt::vformat);
