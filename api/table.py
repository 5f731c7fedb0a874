"""Reads the table of MPI functions, callbacks and constants (format: README.md). Pure: text in, objects out."""

import re
from dataclasses import dataclass, field, replace

# kind -> (type in C, type in the large-count form); None: the kind has a rule of its own below.
INTEGERS = {
    "int": ("int", "int"),
    "rank": ("int", "int"),
    "root": ("int", "int"),
    "tag": ("int", "int"),
    "logical": ("int", "int"),
    "keyval": ("int", "int"),
    "error": ("int", "int"),
    "size": ("int", "int"),  # a number of things, never negative, the same in both forms
    "count": ("int", "MPI_Count"),
    "difference": ("int", "MPI_Count"),  # as count, and may be negative
    "disp": ("int", "MPI_Aint"),
    "extent": ("MPI_Aint", "MPI_Count"),
    "address": ("MPI_Aint", "MPI_Aint"),
    "offset": ("MPI_Offset", "MPI_Offset"),
    "large": ("MPI_Count", "MPI_Count"),
}
NARROW = {"int", "rank", "root", "tag", "logical", "keyval", "error", "size"}
HANDLES = {
    "comm": "Comm",
    "datatype": "Datatype",
    "committed": "Datatype",  # a datatype that must have been committed
    "request": "Request",
    "info": "Info",
    "file": "File",
    "win": "Win",
    "op": "Op",
    "group": "Group",
    "errhandler": "Errhandler",
    "session": "Session",
    "message": "Message",
}
TOOL_TYPES = {
    "t_enum": "T_enum",
    "t_cvar_handle": "T_cvar_handle",
    "t_pvar_handle": "T_pvar_handle",
    "t_pvar_session": "T_pvar_session",
    "t_event_registration": "T_event_registration",
    "t_event_instance": "T_event_instance",
    "t_cb_safety": "T_cb_safety",
    "t_source_order": "T_source_order",
}
OTHERS = {"buffer", "pointer", "extra_state", "string", "status", "argc", "argv", "argvs", "range", "varargs"}
LENGTHS = {"comm", "out", "in"}  # of arrays: the communicator's size, the neighbours that this process sends to, or hears from
RESULTS = {"": "int", "double": "double", "int": "int", "address": "MPI_Aint"}

PARAMETER = re.compile(
    r"^(?P<name>[a-z_0-9]+|\.\.\.):(?P<kind>\w+)(?P<dir>[>&*]?)(?P<array>\[\w*\])?"
    r"(?P<null>\??)(?P<large>\+?)(?:@(?P<where>\w+))?$"
)


class TableError(Exception):
    pass


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    direction: str = ""  # "" in, ">" out, "&" in and out, "*" in, by address
    length: str | None = None  # of an array: the parameter that says how long it is, see LENGTHS, "": not said
    null: bool = False  # a null handle is legal
    large_only: bool = False
    where: str = ""  # significant only where: "root", or not where that buffer is MPI_IN_PLACE

    @property
    def array(self):
        return self.length is not None

    @property
    def callback(self):
        return self.kind[0].isupper()

    def c_type(self, large):
        """(type, is a plain value type): of one element, in C."""
        if self.kind in INTEGERS:
            return INTEGERS[self.kind][1 if large else 0]
        if self.kind in HANDLES:
            return "MPI_" + HANDLES[self.kind]
        if self.kind in TOOL_TYPES:
            return "MPI_" + TOOL_TYPES[self.kind]
        if self.kind == "status":
            return "MPI_Status"
        raise TableError(f"kind {self.kind} has no plain type")

    def c(self, large=False):
        """The parameter as it stands in a prototype of C."""
        name, kind, out = self.name, self.kind, self.direction != ""
        if self.callback:
            both = kind in LARGE_CALLBACKS
            value = kind.startswith("T_")  # the tool interface passes function types as such
            return f"MPI_{kind}{'_c' if large and both else ''} {'' if value else '*'}{name}"
        special = {
            "varargs": "...",
            "range": f"int {name}[][3]",
            "argc": f"int *{name}",
            "argv": f"char ***{name}" if out else f"char *{name}[]",
            "argvs": f"char **{name}[]",
            "buffer": f"void *{name}" if out else f"const void *{name}",
            "pointer": f"void *{name}",
            "extra_state": f"void *{name}",
            "string": f"char *{name}" if out else f"const char *{name}",
        }
        if kind in special:
            return special[kind]
        kind_of = self.c_type(large)
        if self.array:
            return f"{'' if out else 'const '}{kind_of} {name}[]"
        if kind == "status" and not out:
            return f"const MPI_Status *{name}"
        return f"{kind_of} {'*' if out else ''}{name}"


LARGE_CALLBACKS = {"User_function", "Datarep_conversion_function"}


@dataclass(frozen=True)
class Function:
    name: str  # without MPI_
    parameters: tuple = ()
    result: str = ""  # "": int, an error code
    large: bool = False  # has a large-count form, named with _c
    anytime: bool = False  # may be called before MPI_Init and after MPI_Finalize
    anywhere: bool = False  # may be called by any thread, whatever the level of thread support
    alias: str = ""  # implemented by another function's implementation
    implemented: bool = True
    front: bool = False  # the front end answers by itself
    form: bool = False  # mpi/ is told in a last argument whether it is the large-count form that is called
    deprecated: str = ""
    chapter: str = ""

    @property
    def cpp_name(self):
        return self.alias or self.name.lower()

    def forms(self):
        """(name in C, is the large-count form)"""
        yield "MPI_" + self.name, False
        if self.large:
            yield f"MPI_{self.name}_c", True

    def c_result(self):
        if self.result in RESULTS:
            return RESULTS[self.result]
        return "MPI_" + HANDLES[self.result]

    def c_parameters(self, large=False):
        return ", ".join(p.c(large) for p in self.parameters if large or not p.large_only) or "void"


@dataclass
class Section:
    form: str  # "handle", "enum", "macro"
    kind: str  # of a handle; type of an enum
    title: str
    entries: list = field(default_factory=list)  # (name, value, deprecated) or (None, title, "")


def parse_parameter(text):
    match = PARAMETER.match(text)
    if not match:
        raise TableError(f"cannot read parameter '{text}'")
    kind = match["kind"]
    if not (kind in INTEGERS or kind in HANDLES or kind in TOOL_TYPES or kind in OTHERS or kind[0].isupper()):
        raise TableError(f"unknown kind '{kind}' in '{text}'")
    array = match["array"]
    return Parameter(match["name"], kind, match["dir"], None if array is None else array[1:-1], bool(match["null"]),
                     bool(match["large"]), match["where"] or "")


def parse_flags(text):
    """The words after a function's name, separated by commas."""
    fields = {}
    for flag in filter(None, (part.strip() for part in text.split(","))):
        word, _, rest = flag.partition(" ")
        if word == "->":
            fields["result"] = rest
        elif word in ("large", "anytime", "anywhere", "front", "form"):
            fields[word] = True
        elif word == "none":
            fields["implemented"] = False
        elif word == "as":
            fields["alias"] = rest
        elif word == "deprecated":
            fields["deprecated"] = rest
        else:
            raise TableError(f"unknown flag '{flag}'")
    return fields


def entries(text):
    """(heading, indented text that follows it) of each entry; # begins a comment."""
    heading, body = None, []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            if heading is None:
                raise TableError(f"parameters without a function: '{line.strip()}'")
            body.append(line.strip())
        else:
            if heading is not None:
                yield heading, " ".join(body)
            heading, body = line.strip(), []
    if heading is not None:
        yield heading, " ".join(body)


def parse_functions(text, chapter=""):
    functions = []
    for heading, body in entries(text):
        name, _, flags = heading.partition(" ")
        parameters = tuple(parse_parameter(word) for word in body.split())
        function = Function(name, parameters, chapter=chapter, **parse_flags(flags))
        check_lengths(function)
        functions.append(function)
    return functions


def check_lengths(function):
    names = {p.name for p in function.parameters}
    for p in function.parameters:
        if p.length and p.length not in names | LENGTHS:
            raise TableError(f"{function.name}: length '{p.length}' of '{p.name}' is not a parameter")
        if p.array and p.kind in HANDLES and function.implemented and not function.front and not p.length:
            raise TableError(f"{function.name}: the array of handles '{p.name}' needs a length")


def parse_callbacks(text):
    callbacks = []
    for heading, body in entries(text):
        name, _, flags = heading.partition(" ")
        result, _, rest = flags.partition(",")
        function = Function(name, tuple(parse_parameter(w) for w in body.split()), **parse_flags(rest))
        callbacks.append((replace(function, result=""), result.strip()))
    return callbacks


def parse_constants(text):
    sections = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line[0].isspace():
            head, _, title = line.partition("|")
            form, _, kind = head.strip().partition(" ")
            if form not in ("handle", "enum", "macro"):
                raise TableError(f"unknown section '{line}'")
            sections.append(Section(form, kind.strip(), title.strip()))
        elif line.strip().startswith("|"):
            sections[-1].entries.append((None, line.strip()[1:].strip(), ""))
        else:
            text_of, _, deprecated = line.strip().partition(" deprecated ")
            name, _, value = text_of.partition(" ")
            sections[-1].entries.append((name, value.strip(), deprecated))
    return sections


def wrap_list(text, width=120, indent="    "):
    """Breaks a line of code at commas only."""
    lines, line = [], ""
    for part in text.split(", "):
        joined = f"{line}, {part}" if line else part
        if len(joined) > width - 1 and line:
            lines.append(line + ",")
            joined = indent + part
        line = joined
    return "\n".join(lines + [line])
