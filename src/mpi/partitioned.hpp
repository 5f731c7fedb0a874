// Requests of partitioned communication (MPI 5.0, 4.2).
//
// Which send goes to which receive is decided by the order of the calls that make them, for each communicator, pair of processes and
// tag: the sender names a context, the *channel*, and tells its name in a message with the call's tag, in a context of the communicator
// for that alone. The partitions of a start are messages of the channel, taken by their number (design rule 1), in whatever order they are made ready.
// Nothing of it is an event but the outcome of MPI_Parrived.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "mpi/opened_context.hpp"
#include "mpi/p2p_request.hpp"

namespace hf::mpi {

// What the sender tells when it makes its request.
struct ChannelName {
  Context context{};
  std::uint64_t partition_bytes = 0;
  std::uint64_t partitions = 0;
};

struct PsendRequest final : Request {
  struct Part {
    TypedBuffer buffer;
    engine::SendOperation op;
    bool ready = false;
  };
  // Stays until the engine has sent it, whatever becomes of the request.
  struct Told {
    ChannelName name;
    engine::SendOperation op;
  };
  std::unique_ptr<Told> told = std::make_unique<Told>();
  std::optional<OpenedContext> channel;
  std::vector<Part> parts;
  Datatype* type = nullptr;  // one reference
  int destination = proc_null;

  ~PsendRequest() override;
  bool done() const override;
  Rank awaits() const override { return told->op.destination; }
  int finish(Process&, Status&) override;
  int start(Process&) override;
};

struct PrecvRequest final : Request, engine::Progressable {
  struct Part {
    PrecvRequest* owner = nullptr;
    std::size_t begin = 0;  // of the receive buffer, packed
    engine::RecvOperation op;
  };
  struct Told {
    ChannelName name;
    engine::RecvOperation op;
  };
  std::unique_ptr<Told> told = std::make_unique<Told>();
  std::optional<OpenedContext> channel;  // from the first start on
  std::vector<Part> parts;               // those of the sender
  TypedBuffer buffer;       // all partitions
  int partitions = 0;       // of the receiver
  Datatype* type = nullptr;  // one reference
  engine::Engine* engine = nullptr;
  int source = proc_null;
  int tag = 0;
  bool posted = false;    // the receives of this start
  bool awaiting = false;  // the engine calls progress()

  ~PrecvRequest() override;
  bool done() const override;
  Rank awaits() const override { return told->op.source; }
  int finish(Process&, Status&) override;
  int start(Process&) override;
  bool progress() override;
  bool arrived(int partition) const;

 private:
  void post();
};

}  // namespace hf::mpi
