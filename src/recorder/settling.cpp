#include "recorder/settling.hpp"

#include "recorder/aside.hpp"
#include "recorder/appended.hpp"
#include "recorder/updates.hpp"

namespace hf::recorder {

void follow_renamed(const char* from, const char* to) {
  follow_renamed_appended(from, to);
  follow_renamed_updates(from, to);
}

void settle(Name& name) {
  settle_appended(name);
  settle_updated(name);
}

void settle(const char* path) {
  if (Name* name = name_of(hash_of(path))) settle(*name);
}

void settle_below(const char* path) {
  settle_appended_below(path);
  settle_updates_below(path);
}

const struct stat* in_sight_of(dev_t device, ino_t inode) {
  const struct stat* found = in_sight_of_updated(device, inode);
  return found ? found : in_sight_of_appended(device, inode);
}

void settle_no_more(const Name& name) {
  forget_appended(name);
  forget_updated(name);
}

bool come_as_far(wire::ReplayEnd end) {
  using wire::ReplayEnd;
  if (end != ReplayEnd::unknown) begin_last_call(end);
  if (end <= ReplayEnd::last_call) return !is_anything_updated() && !is_anything_appended();
  settle_updates(end == ReplayEnd::as_peers_know);
  settle_all_appended();
  return true;
}

}  // namespace hf::recorder

// A program that ends without MPI_Finalize.
[[gnu::destructor]] static void settle_at_end() {
  using namespace hf::recorder;
  if (process.may_record() && process.on_main_thread()) aside([] { come_as_far(hf::wire::ReplayEnd::past); });
}
