// Looks at files (stat, access) that are the recorder's own: not recorded.
#pragma once
#include <sys/stat.h>

namespace hf::recorder {

int system_status(int directory, const char* path, struct stat* status, int flags);
int system_statx(int directory, const char* path, int flags, unsigned mask, struct statx* status);

}  // namespace hf::recorder
