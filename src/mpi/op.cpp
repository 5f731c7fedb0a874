#include "mpi/op.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "mpi/api.hpp"
#include "mpi/datatype.hpp"
#include "mpi/op_kernels.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int first_value = 0x20, value_count = 0x20;

struct Named {
  int value;
  Op::Kind kind;
};
constexpr Named named_ops[] = {
    {0x21, Op::Kind::sum},     {0x22, Op::Kind::min},   {0x23, Op::Kind::max},    {0x24, Op::Kind::prod},
    {0x28, Op::Kind::band},    {0x29, Op::Kind::bor},   {0x2a, Op::Kind::bxor},   {0x30, Op::Kind::land},
    {0x31, Op::Kind::lor},     {0x32, Op::Kind::lxor},  {0x38, Op::Kind::minloc}, {0x39, Op::Kind::maxloc},
    {0x3c, Op::Kind::replace}, {0x3d, Op::Kind::no_op},
};

struct OpTable {
  std::array<Op, value_count> ops;
  OpTable() {
    for (Op& op : ops) op.kind = Op::Kind::null;
    for (const Named& named : named_ops) {
      Op& op = ops[static_cast<std::size_t>(named.value - first_value)];
      op.kind = named.kind;
      op.predefined = true;
      op.commutative = named.kind != Op::Kind::replace && named.kind != Op::Kind::no_op;
    }
  }
};

}  // namespace

Op* predefined_op(int abi_value) {
  static OpTable table;
  if (abi_value < first_value || abi_value >= first_value + value_count) return nullptr;
  Op& op = table.ops[static_cast<std::size_t>(abi_value - first_value)];
  return op.kind == Op::Kind::null ? nullptr : &op;
}

int check_op(const Op& op, const Datatype& type) {
  if (op.kind == Op::Kind::user || op_kernel(op.kind, type.operand)) return success;
  return err_op;
}

void apply_op(const Op& op, const void* in, void* inout, Count count, Datatype& type) {
  if (count == 0) return;
  if (op.kind == Op::Kind::user) {
    op.function.frontend->call_op(op.function, in, inout, count, type);
    return;
  }
  op_kernel(op.kind, type.operand)(in, inout, count);
}

int op_create(Process& p, Callback function, int commute, Op*& op) {
  if (!function) return p.explain(err_arg, "the function of an operation is a null pointer");
  op = new Op;
  op->kind = Op::Kind::user;
  op->commutative = commute != 0;
  op->function = function;
  return success;
}

int op_free(Process& p, Op*& op) {
  if (op->predefined) return p.explain(err_op, "a predefined operation cannot be freed");
  release(op);
  op = nullptr;
  return success;
}

int op_commutative(Process&, Op& op, int& commute) {
  commute = op.commutative;
  return success;
}

int reduce_local(Process& p, const void* in, void* inout, Count count, Datatype& type, Op& op) {
  if (check_op(op, type) != success) {
    return p.explain(
        err_op, fmt::format("the operation is not defined on {}", type.name.empty() ? "this datatype" : type.name));
  }
  if (in == in_place || inout == in_place) return p.explain(err_buffer, "MPI_IN_PLACE is not allowed here");
  apply_op(op, in, inout, count, type);
  return success;
}

}  // namespace hf::mpi
