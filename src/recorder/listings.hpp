// What is done by the descriptor of a directory whose listing is recorded (listings.cpp) is known by the whole name.
#pragma once

namespace hf::recorder {

// The name of what main-thread code of the program means by `name` in the open directory. False: its listing is not recorded, or `name` needs no directory.
bool put_listed(const void* caller, int directory, const char* name, char (&path)[4096]);

}  // namespace hf::recorder
