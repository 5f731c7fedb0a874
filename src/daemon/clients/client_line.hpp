// Requests and answers between a job and its clients: a JSON object a line (docs/clients.md). Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hf::daemon {

using Json = nlohmann::json;

inline constexpr std::size_t request_bytes_max = 64 * 1024;  // of a line, without its end
inline constexpr std::size_t answer_bytes_max = 4 << 20;

// Cuts what arrives into lines.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
  void add(std::string_view bytes) { bytes_ += bytes; }
  // The next line, without its end. An error: it is longer than a line may be; nothing that follows can be told apart.
  Result<std::optional<std::string>> next();

 private:
  std::size_t line_bytes_max_;
  std::string bytes_;
  std::size_t used_ = 0;
};

Result<Json> decode_line(std::string_view line);     // an object, or why it is none
Result<Json> decode_request(std::string_view line);  // an object with a name in "request"
std::string encode_line(const Json& object);         // with the end of line; bytes that are no UTF-8 are replaced
Json error_line(const std::string& text);            // {"error": text}

// Members of an object that a peer made; nothing when it is missing or of another type.
std::optional<std::string> text_member(const Json& object, const char* name);
std::optional<std::uint64_t> number_member(const Json& object, const char* name);
bool flag_member(const Json& object, const char* name);  // false when it is not there

// Bytes inside of a line.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace hf::daemon
