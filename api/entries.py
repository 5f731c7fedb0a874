"""Makes the entry points: src/abi/entry/CHAPTER.hpp (templates over a front end's traits) and, for the standard ABI, the
symbols in src/abi/standard/entry_CHAPTER.cpp."""

from table import HANDLES, INTEGERS, LENGTHS, NARROW, wrap_list

POLY = {"count": "N", "difference": "N", "disp": "N"}  # what depends on the form, as a template parameter
CHECKED = {"count": "mpi::err_count", "size": "mpi::err_arg"}
TYPES = {"address": "mpi::Count", "offset": "mpi::Count", "large": "mpi::Count", "extent": "mpi::Count"}


class Body:
    """Collects the parts of one entry point."""

    def __init__(self):
        self.parameters = []  # of the template
        self.before = []  # conversions and checks
        self.arguments = ["call.p"]  # of the call of mpi/
        self.after = []  # done whatever the code is
        self.success = []  # done when the code is MPI_SUCCESS


def number_type(kind):
    return POLY.get(kind) or TYPES.get(kind) or "int"


def has_root_side(function):
    """Whether the root has arguments of its own, so that what others give is not significant there on intercommunicators."""
    return any(p.where == "root" for p in function.parameters)


def significance(function, p):
    """C++ condition under which a parameter is significant; '' for always (6.2 and the descriptions of collectives)."""
    conditions = []
    names = {q.name: q for q in function.parameters}
    if p.where != "root" and "root" in names:
        conditions.append("at_leaf" if has_root_side(function) else "!looks_on")
    if p.where == "root":
        conditions.append("at_root")
        other = "recvbuf" if p.name.startswith("recv") else "sendbuf"
        if p.name.startswith("recv") and "sendbuf" in names:
            other = None  # at the root of a gather the receive side counts, also with MPI_IN_PLACE
        if other and names[other].direction:
            conditions.append(f"!Abi::in_place({other})")
    elif p.where:
        conditions.append(f"!Abi::in_place({p.where})")
    return " && ".join(conditions)


def scalar(body, function, p):
    name, kind = p.name, p.kind
    if p.array:
        return number_array(body, p)
    type_name = number_type(kind)
    if not p.direction:
        body.parameters.append(f"{type_name} {name}")
        if kind in CHECKED:
            error = "mpi::err_count" if name in ("count", "incount") else CHECKED[kind]
            check = f'call.not_negative({name}, {error}, "{name}");'
            where = significance(function, p)
            body.before.append(f"if ({where}) {check}" if where else check)
        body.arguments.append(name)
        return
    body.parameters.append(f"{type_name}* {name}")
    body.before.append(f'call.address({name}, "{name}");')
    if kind not in POLY:
        body.arguments.append(f"*{name}")
        return
    start = f"{name} ? *{name} : 0" if p.direction == "&" else "0"
    body.before.append(f"mpi::Count {name}_ = {start};")
    body.arguments.append(f"{name}_")
    body.success.append(f"*{name} = call.template narrow<N>({name}_);")


def number_array(body, p):
    name, out = p.name, p.direction != ""
    type_name = "mpi::Count" if out and p.kind in POLY else number_type(p.kind)
    body.parameters.append(f"{'' if out else 'const '}{type_name}* {name}")
    if p.length and p.length not in LENGTHS:
        body.before.append(f'call.array({name}, {p.length}, "{name}");')
    if out or p.kind in NARROW or p.kind in ("address", "offset", "large"):
        body.arguments.append(name)
    else:
        body.arguments.append(f"mpi::CountArray({name})")


def handle(body, function, p):
    if p.array:
        return handle_array(body, function, p)
    name, cls = p.name, HANDLES[p.kind]
    abi_type = f"typename Abi::{cls}"
    if p.direction == "":
        body.parameters.append(f"{abi_type} {name}")
        if p.kind == "committed":
            where = significance(function, p)
            extra = f", {where}" if where else ""
            body.before.append(f'mpi::Datatype* {name}_ = call.committed({name}, "{name}"{extra});')
        else:
            at = f"!at_{p.where} ? nullptr : " if p.where else ""
            body.before.append(f"mpi::{cls}* {name}_ = {at}{lookup(p)};")
        body.arguments.append(f"{name}_" if p.null else f"*{name}_")
        return
    body.parameters.append(f"{abi_type}* {name}")
    if p.direction == ">":
        body.before.append(f'call.address({name}, "{name}");')
        body.before.append(f"mpi::{cls}* {name}_ = nullptr;")
        body.arguments.append(f"{name}_")
        body.success.append(f"call.give({name}, {name}_);")
        return
    at = f"{p.kind}_at" if p.kind in ("comm", "session") else f"template {'optional' if p.null else 'object'}_at<mpi::{cls}>"
    body.before.append(f'mpi::{cls}* {name}_ = call.{at}({name}, "{name}");')
    if p.direction == "*":
        body.arguments.append(f"*{name}_")
        return
    if p.null:
        body.before.append(f"const bool {name}_was_null = !{name}_;")
    body.arguments.append(f"{name}_")
    body.after.append(f"call.give_back({name}, {name}_, {name + '_was_null' if p.null else 'false'});")


def lookup(p):
    if p.kind == "file" or p.kind in ("comm", "session") and not p.null:
        return f'call.{p.kind}({p.name}, "{p.name}")'
    return f'call.template {"optional" if p.null else "object"}<mpi::{HANDLES[p.kind]}>({p.name}, "{p.name}")'


def handle_array(body, function, p):
    name, out = p.name, p.direction in (">", "&")
    body.parameters.append(f"{'' if p.direction else 'const '}typename Abi::{HANDLES[p.kind]}* {name}")
    if p.kind == "request":
        once = "true" if p.direction else "false"
        body.before.append(f"Requests<Abi> {name}_(call, {name}, {p.length}, {once});")
        body.arguments.append(f"{name}_.{'span' if out else 'constant'}()")
        if p.direction == "*":
            body.before.append(f"{name}_.none_null();")
        if p.direction == "&":
            body.after.append(f"{name}_.give_back({name});")
        return
    if p.kind not in ("datatype", "committed"):
        raise ValueError(f"arrays of {p.kind} are not converted")
    if out:
        body.before.append(f"Scratch<mpi::Datatype*, 32> {name}_(length({p.length}));")
        body.arguments.append(f"{name}_.span()")
        body.success.append(f"for (std::size_t i = 0; i < {name}_.span().size(); ++i) {{")
        body.success.append(f"  if ({name}_[i]) call.give(&{name}[i], {name}_[i]);")
        body.success.append("}")
        return
    committed = "true" if p.kind == "committed" else "false"
    lengths = {"comm": "comm_->peers().size()", "out": "out_degree(*comm_)", "in": "in_degree(*comm_)"}
    count = f"comm_ ? {lengths[p.length]} : 0" if p.length in lengths else p.length
    extra = f", !Abi::in_place({p.where})" if p.where else ""
    counts = p.name.replace("types", "counts")  # each element's own
    if counts in (q.name for q in function.parameters):
        extra = f"{extra or ', true'}, mpi::CountArray({counts})"
    body.before.append(f'Datatypes<Abi> {name}_(call, {name}, {count}, "an element of {name}", {committed}{extra});')
    body.arguments.append(f"{name}_.span()")


def status(body, function, p):
    name = p.name
    if p.array:
        body.parameters.append(f"typename Abi::Status* {name}")
        body.before.append(f"Statuses<Abi> {name}_({name}, {p.length});")
        body.arguments.append(f"{name}_.span()")
        some = next((q.name for q in function.parameters if q.name == "outcount"), None)
        filled = f"{some} ? *{some} : 0" if some else p.length
        body.after.append(f"{name}_.store({name}, code, {filled});")
        return
    body.parameters.append(f"{'' if p.direction else 'const '}typename Abi::Status* {name}")
    if p.direction == ">":
        body.before.append(f"mpi::Status {name}_;")
        body.arguments.append(f"Abi::ignored({name}) ? nullptr : &{name}_")
        body.after.append(f"if (!Abi::ignored({name})) Abi::store(*{name}, {name}_, false);")
        return
    body.before.append(f'call.address({name}, "{name}");')
    body.before.append(f"mpi::Status {name}_ = {name} ? Abi::load(*{name}) : mpi::Status{{}};")
    body.arguments.append(f"{name}_")
    if p.direction == "&":
        body.success.append(f"Abi::store(*{name}, {name}_, true);")


def callback(body, function, p):
    name, kind = p.name, p.kind
    kind_type = f"typename Abi::{kind}*"
    if kind == "User_function":
        body.parameters.append(f"std::conditional_t<std::same_as<N, int>, typename Abi::{kind}, typename Abi::{kind}_c>* "
                               + name)
        body.arguments.append(f"call.callback({name}, std::same_as<N, int> ? small_form : large_form)")
        return
    body.parameters.append(f"{kind_type} {name}")
    if kind.endswith(("copy_attr_function", "Copy_function")):
        body.arguments.append(f"call.copy_callback({name})")
    elif kind.endswith(("delete_attr_function", "Delete_function")):
        body.arguments.append(f"call.delete_callback({name})")
    else:
        body.arguments.append(f"call.callback({name})")


def other(body, function, p):
    name, out = p.name, p.direction != ""
    types = {
        "buffer": "void*" if out else "const void*",
        "pointer": "void*",
        "extra_state": "void*",
        "string": "char*" if out else "const char*",
        "argc": "int*",
        "argv": "char***" if out else "char**",
    }
    if p.kind == "varargs":
        return
    if p.kind == "range":
        body.parameters.append(f"int (*{name})[3]")
    else:
        body.parameters.append(f"{types[p.kind]} {name}")
    if p.kind == "string" and not out or p.kind == "pointer" and out:
        body.before.append(f'call.address({name}, "{name}");')
    body.arguments.append(name)


def handler_of_maker(function):
    """The error handler that a function takes for the object that it makes, and for its own errors (11.3.1)."""
    makes = any(p.kind in HANDLES and p.direction == ">" for p in function.parameters)
    return next((p.name for p in function.parameters if makes and p.kind == "errhandler" and not p.direction), None)


def roles(owner, used):
    """Declarations of what the process is in the call, whose communicator or local group is `owner`, of those names that `used` mentions."""
    own = owner.name
    conditions = {"at_leader": f"{own}_->self == local_leader"} if owner.kind == "group" else {
        "at_root": f"{own}_->is_root(root)", "at_leaf": f"{own}_->is_leaf(root)", "looks_on": f"{own}_->looks_on(root)",
        "at_leader": f"{own}_->rank() == local_leader"}
    return [f"const bool {name} = {own}_ && {condition};" for name, condition in conditions.items() if name in used]


def convert(function):
    body = Body()
    # The communicator, session or file first: its error handler is the one for what is wrong with the other arguments.
    ordered = sorted(function.parameters, key=lambda p: (p.kind not in ("comm", "session", "file") or p.direction == ">"))
    parts = {}
    roles_at = None
    if handler := handler_of_maker(function):
        body.before.append(f"call.tell({handler});")
    for p in ordered:
        part = Body()
        if p.kind in INTEGERS:
            scalar(part, function, p)
        elif p.kind in HANDLES:
            handle(part, function, p)
        elif p.kind == "status":
            status(part, function, p)
        elif p.callback:
            callback(part, function, p)
        else:
            other(part, function, p)
        parts[p.name] = part
        body.before += part.before
        if (p.kind == "comm" or p.name == "local_group") and roles_at is None:
            owner, roles_at = p, len(body.before)
    if roles_at is not None:
        body.before[roles_at:roles_at] = roles(owner, " ".join(body.before))
    for p in function.parameters:
        part = parts[p.name]
        body.parameters += part.parameters
        body.arguments += part.arguments[1:]
        body.after += part.after
        body.success += part.success
    if function.form:
        body.arguments.append("std::same_as<N, mpi::Count>")
    return body


def call_name(function):
    small = f'"MPI_{function.name}"'
    name = f'form<N>({small}, "MPI_{function.name}_c")' if function.large else small
    tags = [tag for tag in ("anywhere", "anytime") if getattr(function, tag)]
    return name + (", " + "_".join(tags) if tags else "")


def template_parameters(function):
    return "class Abi, class N" if function.large or uses_number(function) else "class Abi"


def uses_number(function):
    return any(p.kind in POLY or p.kind == "User_function" for p in function.parameters)


def entry(function):
    """The template of one implemented function."""
    body = convert(function)
    result = {"": "int", "double": "double", "address": "mpi::Count"}[function.result]
    lines = [f"template <{template_parameters(function)}>"]
    lines.append(wrap_list(f"{result} {function.name.lower()}({', '.join(body.parameters)}) {{"))
    lines.append(f"  Call<Abi> call({call_name(function)});")
    call = f"mpi::{function.cpp_name}({', '.join(body.arguments)})"
    if function.result:
        lines.append(f"  return {call};")
        return "\n".join(lines + ["}"])
    lines += [wrap_list("  " + line, indent="      ") for line in body.before]
    if body.before:
        lines.append("  if (call.bad()) [[unlikely]] return call.refuse();")
    if not body.after and not body.success:
        lines.append(wrap_list(f"  return call.result({call});", indent="      "))
        return "\n".join(lines + ["}"])
    lines.append(wrap_list(f"  const int code = {call};", indent="      "))
    lines += ["  " + line for line in body.after]
    if len(body.success) == 1:
        lines.append(f"  if (code == mpi::success) {body.success[0]}")
    elif body.success:
        lines += ["  if (code == mpi::success) {"] + ["    " + line for line in body.success] + ["  }"]
    return "\n".join(lines + ["  return call.result(code);", "}"])


def implemented(function):
    return function.implemented and not function.front


def make_templates(functions, chapter):
    parts = [f"// Entry points of MPI functions: {chapter.replace('_', ' ')}. Generated by api/generate.py from api/: "
             "do not edit.\n#pragma once\n#include \"abi/arrays.hpp\"\n#include \"abi/call.hpp\"\n\n"
             "namespace hf::abi::entry {\n"]
    parts += [entry(f) + "\n" for f in functions if f.chapter == chapter and implemented(f)]
    return "\n".join(parts) + "\n}  // namespace hf::abi::entry\n"


def pass_on(function, large):
    """The body of a symbol: calls the template, or says that there is none."""
    name = f"MPI_{function.name}{'_c' if large else ''}"
    if not function.implemented:
        if function.chapter == "files":
            return f'return hf::abi::unsupported_in_files<Standard>("{name}");', set()
        comm = next((p.name for p in function.parameters if p.kind == "comm" and not p.direction), None)
        extra = f", {comm}" if comm else ""
        return f'return hf::abi::unsupported<Standard>("{name}"{extra});', {comm}
    if function.name.endswith("_toint"):
        return f"return front::to_int<Standard>({function.parameters[0].name});", {function.parameters[0].name}
    if function.name.endswith("_fromint"):
        argument = function.parameters[0].name
        return f"return front::from_int<Standard, {function.c_result()}>({argument});", {argument}
    names = [p.name for p in function.parameters if p.kind != "varargs" and (large or not p.large_only)]
    arguments = []
    for p in function.parameters:
        if p.kind == "varargs":
            continue
        if p.large_only and not large:
            arguments.append("nullptr" if p.array else "&" + p.name if p.direction else "0")
        else:
            arguments.append(p.name)
    number = f", {'MPI_Count' if large else 'int'}" if "class N" in template_parameters(function) else ""
    space = "front" if function.front else "entry"
    unused = [f"  int {p.name} = 0;" for p in function.parameters if p.large_only and not large and p.direction
              and not p.array]
    answer = function.cpp_name if function.front else function.name.lower()
    call = f"return {space}::{answer}<Standard{number}>({', '.join(arguments)});"
    return "".join(line.strip() + "\n  " for line in unused) + call, set(names)


def c_definition(function, name, large, used):
    parameters = []
    for p in function.parameters:
        if p.large_only and not large:
            continue
        text = p.c(large)
        if p.name not in used and p.kind != "varargs":
            text = text.replace(f"[{'3'}]", "[3]")
            text = unnamed(text, p.name)
        parameters.append(text.replace(" *", "* ").replace("* *", "**"))
    return f"{function.c_result()} holdfast_{name}({', '.join(parameters)})"


def unnamed(text, name):
    """A parameter without its name: 'const int x[]' -> 'const int[]'."""
    before, _, after = text.rpartition(name)
    return (before.rstrip() + after).replace(" []", "[]")


def make_symbols(functions, chapter):
    templates = any(f.chapter == chapter and implemented(f) for f in functions)
    parts = [f"// Symbols of the standard ABI: {chapter.replace('_', ' ')}. Generated by api/generate.py from api/: do not "
             "edit.\n// As the symbols of entries.S call them.\n"
             + (f'#include "abi/entry/{chapter}.hpp"\n' if templates else "")
             + f'#include "abi/{"tools" if chapter == "tools" else "front"}.hpp"\n#include "abi/standard/standard.hpp"\n\n'
             "using hf::abi::Standard;\n" + ("namespace entry = hf::abi::entry;\n" if templates else "")
             + "namespace front = hf::abi::front;\n\nextern \"C\" {\n"]
    for function in functions:
        if function.chapter != chapter:
            continue
        for name, large in function.forms():
            body, used = pass_on(function, large)
            head = wrap_list(c_definition(function, name, large, used) + " {", indent="    ")
            statements = "\n".join(wrap_list(line, 118, "      ") for line in body.split("\n"))
            parts.append(f"{head}\n  {statements}\n}}\n"
                         f"HF_ENTRY({name});\n")
    return "\n".join(parts) + '\n}  // extern "C"\n'


REGISTERS = 6  # that carry arguments: all are integers or addresses


def make_entries(functions):
    """entries.S"""
    lines = ["/* Symbols of the standard ABI. Generated by api/generate.py from api/: do not edit. */", '#include "abi/standard/entry.inc"']
    for function in functions:
        for name, large in function.forms():
            arguments = [p for p in function.parameters if p.kind != "varargs" and (large or not p.large_only)]
            lines.append(f"  entry {name}, {max(0, len(arguments) - REGISTERS)}")
    return "\n".join(lines) + "\n"
