#include "daemon/clients/client_line.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <nlohmann/json.hpp>

namespace hf::daemon {

Result<std::optional<std::string>> LineSplitter::next() {
  const std::size_t end = bytes_.find('\n', used_);
  const std::size_t size = (end == std::string::npos ? bytes_.size() : end) - used_;
  if (size > line_bytes_max_) return fail(fmt::format("a line is longer than {} KiB", line_bytes_max_ >> 10));
  if (end == std::string::npos) {
    bytes_.erase(0, used_);
    used_ = 0;
    return std::nullopt;
  }
  std::string line = bytes_.substr(used_, size);
  used_ = end + 1;
  return line;
}

Result<Json> decode_line(std::string_view line) {
  Json object = Json::parse(line, nullptr, false);
  if (object.is_discarded()) return fail("the line is not JSON");
  if (!object.is_object()) return fail("the line is not a JSON object");
  return object;
}

Result<Json> decode_request(std::string_view line) {
  Result<Json> object = decode_line(line);
  if (object && !text_member(*object, "request")) return fail("the line names no request");
  return object;
}

std::string encode_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json error_line(const std::string& text) {
  return {{"error", text}};
}

std::optional<std::string> text_member(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::uint64_t> number_member(const Json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

bool flag_member(const Json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string to_base64(std::string_view bytes) {
  std::string out(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // the terminating NUL
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out(text.size(), '\0');
  std::size_t size = 0;
  const char* end = nullptr;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(), text.size(), nullptr, &size, &end,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  out.resize(size);
  return out;
}

}  // namespace hf::daemon
