// Space for buffered sends (MPI 5.0, 3.6): what MPI_Buffer_attach gave, divided into slots of one message each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/operation.hpp"
#include "mpi/comm.hpp"
#include "mpi/constants.hpp"

namespace hf::mpi {

inline constexpr Count bsend_overhead = 512;  // MPI_BSEND_OVERHEAD: what a message may cost beside its packed size
inline void* const buffer_automatic = reinterpret_cast<void*>(2);

// One message in the buffer: this header, then the packed payload.
struct BufferSlot {
  engine::SendOperation op;
  Comm* comm = nullptr;  // one reference
  BufferSlot* next = nullptr;  // in order of address
  std::size_t span = 0;        // header and payload, rounded up
  std::uint64_t serial = 0;    // n-th message of this space, from 1
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(BufferSlot) + 4 * alignof(std::max_align_t) <= bsend_overhead);

// Where messages are kept that the buffer could hold, were it empty. When those before them leave differs from run to run: where a rank must do the
// same again (a protocol that logs), neither an error nor what then stands in the program's memory may depend on that, and each has memory of its own.
enum class Keeps { in_buffer, apart };

// The slots of one attached buffer, first fit by address: it holds whatever the standard's model of a circular queue
// would. With MPI_BUFFER_AUTOMATIC each slot is an allocation of its own. The engine completes the slots' operations.
class BufferSpace {
 public:
  BufferSpace(void* buffer, Count size, Keeps keeps = Keeps::in_buffer);
  ~BufferSpace();  // only when idle
  BufferSpace(const BufferSpace&) = delete;
  BufferSpace& operator=(const BufferSpace&) = delete;

  void* buffer() const { return buffer_; }
  Count size() const { return size_; }
  // Room for a message of `bytes`, after dropping what is complete; null: there is none.
  BufferSlot* take(std::size_t bytes);
  // Drops the slots whose operation is complete.
  void sweep();
  // True when no message taken up to `serial` is under way (nothing is dropped).
  bool drained(std::uint64_t serial) const;
  bool idle() const { return !first_ && !own_; }
  std::uint64_t last_serial() const { return serial_; }

 private:
  bool automatic() const { return buffer_ == buffer_automatic; }
  BufferSlot* take_own(std::size_t span);
  BufferSlot* link(BufferSlot** where, void* memory, std::size_t span);

  void* buffer_;
  Count size_;
  std::byte* begin_ = nullptr;  // the aligned part of the buffer
  std::byte* end_ = nullptr;
  BufferSlot* first_ = nullptr;  // in the buffer
  BufferSlot* own_ = nullptr;    // with memory of their own
  Keeps keeps_;
  std::uint64_t serial_ = 0;
};

// The buffer of the process and those of communicators; those of sessions: session.hpp.
struct BufferSpaces {
  std::shared_ptr<BufferSpace> process;
  std::vector<std::pair<Comm*, std::shared_ptr<BufferSpace>>> of_comm;  // one reference to each communicator
  // Where a buffered send on this communicator goes: its own buffer, else its session's, else the process's, else null.
  BufferSpace* find(const Comm& comm) const;
};

}  // namespace hf::mpi
