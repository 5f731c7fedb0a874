// Files that are written when a job has ended.
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hf::daemon {

// Whether write_file will be able to, as far as can be seen before. What is there stays as it is, and no file is left where none was.
Result<> try_file(const std::string& path);

// In place of what was there.
Result<> write_file(const std::string& path, std::string_view text);

}  // namespace hf::daemon
