// What an errno says. Not strerror: that translates, for which it takes memory of the program's heap, at a time that replay does not know.
#pragma once
#include <cstring>

namespace hf::os {

inline const char* error_text(int code) {
  const char* text = ::strerrordesc_np(code);
  return text ? text : "unknown error";
}

}  // namespace hf::os
