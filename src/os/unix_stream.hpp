// Unix stream sockets with a name in a directory that is held open: its path may be of any length, and cannot be exchanged for another.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

// Refused unless it is a directory, no link to one, of this user and closed to all others.
Result<UniqueFd> open_private_directory(const std::string& path);
Result<UniqueFd> make_private_directory(const std::string& path);  // the same, made when it is not there; its parent must be

// Non-blocking, listening at once under that name. An error with an empty text: the name is taken.
Result<UniqueFd> listen_unix(int directory, const std::string& name);
enum class Unreached { nobody_listens, no_such_name, other };
// Non-blocking. Nobody listens when the process that made the name is gone; other: it does not accept, as one that is stopped.
std::expected<UniqueFd, Unreached> connect_unix(int directory, const std::string& name);
UniqueFd accept_unix(int listener);      // non-blocking; empty when none waits
std::optional<uid_t> peer_user(int fd);  // of the process at the other end

}  // namespace hf::os
