#include "daemon/launcher/agent_ticket.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace hf::daemon {
namespace {

// The build id among the notes of one segment.
bool find_build(const std::uint8_t* at, const std::uint8_t* end, BuildId& build) {
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const std::uint8_t* name = at + sizeof note;
    const std::uint8_t* value = name + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::copy_n(value, std::min<std::size_t>(note.n_descsz, build.size()), build.begin());
      return true;
    }
    at = value + (note.n_descsz + 3) / 4 * 4;
  }
  return false;
}

int look_at_object(dl_phdr_info* object, std::size_t, void* build) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + part.p_vaddr);
    if (find_build(at, at + part.p_memsz, *static_cast<BuildId*>(build))) break;
  }
  return 1;  // the first object is the program itself
}

}  // namespace

BuildId own_build() {
  BuildId build{};
  ::dl_iterate_phdr(look_at_object, &build);
  return build;
}

bool plausible(const AgentTicket& ticket) {
  return ticket.magic == AgentTicket().magic && ticket.build == own_build() && ticket.node >= 0 && ticket.port != 0 &&
         ticket.address_count >= 1 && ticket.address_count <= AgentTicket::addresses_max;
}

}  // namespace hf::daemon
