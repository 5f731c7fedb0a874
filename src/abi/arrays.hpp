// Arrays of handles and statuses of a call, converted for mpi/ and back. Short ones need no allocation.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "abi/call.hpp"
#include "mpi/arrays.hpp"
#include "mpi/topology.hpp"

namespace hf::abi {

// n elements, on the stack when they are few.
template <class T, std::size_t inline_count>
class Scratch {
 public:
  explicit Scratch(std::size_t n) : n_(n) {
    if (n > inline_count) many_.resize(n);
  }
  T* data() { return n_ > inline_count ? many_.data() : few_.data(); }
  std::span<T> span() { return {data(), n_}; }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  std::size_t n_;
  std::array<T, inline_count> few_{};
  std::vector<T> many_;
};

inline std::size_t length(mpi::Count n) { return n > 0 ? static_cast<std::size_t>(n) : 0; }

// Requests; those that became null are written back as MPI_REQUEST_NULL. Where the call completes or starts them, none may be
// named twice: after the first time it may be gone.
template <class Abi>
class Requests {
 public:
  using Handle = typename Abi::Request;
  Requests(Call<Abi>& call, const Handle* handles, mpi::Count n, bool once) : call_(call), objects_(length(n)) {
    if (n > 0) call.address(handles, "the array of requests");
    if (call.bad()) return;
    const std::uint64_t serial = ++call.p.request_arrays;
    for (std::size_t i = 0; i < objects_.span().size(); ++i) {
      mpi::Request* request = call.template optional<mpi::Request>(handles[i], "an element of the array of requests");
      objects_[i] = request;
      if (request && std::exchange(request->named_by, serial) == serial && once) [[unlikely]] {
        call.fail(mpi::err_request, "a request stands twice in the array of requests");
      }
    }
  }
  std::span<mpi::Request*> span() { return objects_.span(); }
  std::span<mpi::Request* const> constant() { return objects_.span(); }
  // All must be there: MPI_Startall.
  void none_null() {
    for (mpi::Request* request : span()) {
      if (!request) call_.fail(mpi::err_request, "an element of the array of requests is MPI_REQUEST_NULL");
    }
  }
  void give_back(Handle* handles) {
    for (std::size_t i = 0; i < objects_.span().size(); ++i) {
      if (objects_[i]) continue;
      const bool was_null = Abi::number(handles[i]) == facts<mpi::Request>.null;
      call_.give_back(&handles[i], objects_[i], was_null);
    }
  }

 private:
  Call<Abi>& call_;
  Scratch<mpi::Request*, 32> objects_;
};

// Statuses that a call fills; an empty span for MPI_STATUSES_IGNORE.
template <class Abi>
class Statuses {
 public:
  using Status = typename Abi::Status;
  Statuses(const Status* out, mpi::Count n) : values_(Abi::ignored(out) ? 0 : length(n)) {}
  std::span<mpi::Status> span() { return values_.span(); }
  // Their errors are part of the result only when the call says MPI_ERR_IN_STATUS (3.7.5).
  void store(Status* out, int code, mpi::Count n) {
    const std::size_t count = std::min(length(n), values_.span().size());
    for (std::size_t i = 0; i < count; ++i) Abi::store(out[i], values_[i], code == mpi::err_in_status);
  }

 private:
  Scratch<mpi::Status, 16> values_;
};

// Datatypes that a call reads. Where nothing is significant (`significant` false), each is a placeholder, as is one whose
// count is 0: there may stand MPI_DATATYPE_NULL.
template <class Abi>
class Datatypes {
 public:
  using Handle = typename Abi::Datatype;
  Datatypes(Call<Abi>& call, const Handle* handles, mpi::Count n, const char* name, bool must_be_committed,
            bool significant = true, mpi::CountArray counts = {})
      : objects_(call.bad() ? 0 : length(n)) {
    if (n > 0 && significant) call.address(handles, name);
    if (call.bad()) return;
    for (std::size_t i = 0; i < objects_.span().size(); ++i) {
      const bool nothing = !significant || (counts && counts[i] == 0);
      objects_[i] = nothing             ? call.placeholder()
                    : must_be_committed ? call.committed(handles[i], name)
                                        : call.template object<mpi::Datatype>(handles[i], name);
    }
  }
  std::span<mpi::Datatype* const> span() { return objects_.span(); }

 private:
  Scratch<mpi::Datatype*, 32> objects_;
};

}  // namespace hf::abi
