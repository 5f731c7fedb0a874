"""The structure checks: each takes the root of a tree and returns a list of findings, one line each."""

import json
import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

LINES_MAX = 800


# ---- include direction --------------------------------------------------------------------------------------------------


def may_include(source, target):
    """Why a file of layer `source` may not include one of layer `target`, or None."""
    (layer, part), (below, below_part) = source, target
    for name in (layer, below):
        if name not in tree.LAYERS:
            return f"src/{name} is not a layer of the house"
    if layer == below:
        if layer == "core" and part != below_part and below_part not in tree.CORE_SIBLINGS.get(part, set()):
            return f"core/{part} may not include its sibling core/{below_part}"
        return None
    if layer == "core" and below not in tree.CORE_MAY_INCLUDE:
        return f"a core may not include {below}/"
    if tree.LAYERS.index(below) > tree.LAYERS.index(layer):
        return f"{layer}/ lies below {below}/: the include points upward"
    return None


def include_direction(root):
    findings = []
    graph = {}
    for path in tree.sources(root):
        name = path.relative_to(root).as_posix()
        graph[name] = []
        for line, quoted, target in tree.includes(path):
            resolved = resolve(root, path, target)
            if resolved is None:
                if quoted and not (root / "include" / target).exists():
                    findings.append(f'{name}:{line}: "{target}" is not found from src/')
                continue
            graph[name].append(resolved)
            reason = may_include(tree.layer_of(name), tree.layer_of(resolved))
            if reason:
                findings.append(f'{name}:{line}: includes "{target}": {reason}')
    return findings + cycles(graph)


def resolve(root, path, target):
    for candidate in (root / "src" / target, path.parent / target, root / target):
        if candidate.is_file():
            inside = os.path.relpath(candidate.resolve(), root.resolve())
            return Path(inside).as_posix() if inside.split(os.sep)[0] in ("src", "tools", "sim") else None
    return None


def cycles(graph):
    findings, done = [], set()

    def visit(name, trail):
        if name in trail:
            findings.append("cyclic include: " + " -> ".join(trail[trail.index(name):] + [name]))
            return
        if name in done:
            return
        for target in graph.get(name, []):
            visit(target, trail + [name])
        done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return findings


# ---- purity of the cores ------------------------------------------------------------------------------------------------

PURE = ("src/core", "src/wire")
IMPURE_HEADER = re.compile(
    r"(sys/(?!types\.h)|netinet/|arpa/|net/|linux/|spdlog/|fmt/(os|ostream|chrono|color)\.h|"
    r"(unistd|fcntl|poll|time|pthread|signal|sched|dlfcn|stdio|semaphore|netdb|ifaddrs|spawn|termios)\.h$|"
    r"(ctime|chrono|csignal|cstdio|random|thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|"
    r"stop_token|atomic|fstream|iostream|istream|ostream|syncstream|filesystem)$)")
IMPURE_USE = re.compile(
    r"\b(std::(thread|jthread|mutex|async|random_device|mt19937\w*|cout|cerr|clog|chrono|filesystem|atomic\w*)\b|"
    r"\w+_clock::now|fmt::print|spdlog::|thread_local\b|"
    r"(?:printf|fprintf|puts|getenv|secure_getenv|rand|srand|drand48|clock_gettime|gettimeofday|getpid|gettid|usleep|"
    r"nanosleep|sleep_for|syscall|fork|mmap|memfd_create|pthread_\w+|socket|sendmsg|recvmsg|__rdtsc|_rdtsc)\s*\()")


def without_comments(text):
    """Comments and string literals blanked, line numbers kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def purity(root):
    findings = []
    for path in tree.code_files(root, *PURE):
        if path.suffix not in (".cpp", ".hpp") or path.name.endswith("_test.cpp"):
            continue
        name = path.relative_to(root).as_posix()
        for header, trail in reachable_headers(root, path):
            if IMPURE_HEADER.match(header):
                findings.append(f"{name}: <{header}> through {' -> '.join(trail)}: cores do no input or output, know no clock")
        for number, line in enumerate(without_comments(path.read_text()).split("\n"), 1):
            if used := IMPURE_USE.search(line):
                findings.append(f"{name}:{number}: {used[0].strip()}: cores are plain state machines")
    return findings


def reachable_headers(root, path):
    """(system header, trail of project files) for all that the file includes, itself or through project headers."""
    seen, queue = set(), [(path, [path.relative_to(root).as_posix()])]
    while queue:
        current, trail = queue.pop()
        for _, quoted, target in tree.includes(current):
            resolved = resolve(root, current, target)
            if resolved is None:
                if not quoted:
                    yield target, trail
            elif resolved not in seen:
                seen.add(resolved)
                queue.append((root / resolved, trail + [resolved]))


# ---- printing -----------------------------------------------------------------------------------------------------------

THROWS = re.compile(r"\b(?:fmt|std)::(?:print|println|vprint)\b|\bstd::(?:cout|cerr|clog)\b")


def throwing_print(root):
    """What throws where it cannot write, or says nothing of it: a full disk, or a reader that is gone, would abort a command and its job."""
    return [f"{path.relative_to(root)}:{number}: {used[0]}: print with os/print.hpp"
            for path in tree.sources(root)
            for number, line in enumerate(without_comments(path.read_text(errors="replace")).split("\n"), 1)
            if (used := THROWS.search(line))]


# ---- files --------------------------------------------------------------------------------------------------------------


def file_sizes(root):
    findings = []
    for path in tree.code_files(root):
        lines = path.read_text(errors="replace").count("\n")
        if lines > LINES_MAX and not tree.is_generated(path):
            findings.append(f"{path.relative_to(root)}: {lines} lines, more than {LINES_MAX}: which second noun lives there?")
    return findings


def compiled_alone(build):
    """Sources that the build compiles one by one (not joined with others); None: it is not configured."""
    database = build / "compile_commands.json"
    if not database.exists():
        return None
    return {Path(entry["directory"], entry["file"]).resolve() for entry in json.loads(database.read_text())}


def joined_in(source):
    """Sources that a source which CMake has made (UNITY_BUILD) joins."""
    return {Path(line.split('"')[1]).resolve() for line in source.read_text().splitlines() if line.startswith('#include "')}


def tests_built(root, build):
    """Every *_test.cpp stands in the build's compile_commands.json, or in a source there that joins several."""
    built = compiled_alone(build)
    if built is None:
        return [f"{build} has no compile_commands.json: configure the build first"]
    for source in [path for path in built if path.parent.name == "Unity"]:
        built |= joined_in(source)
    return [f"{path.relative_to(root)}: not built: no CMakeLists.txt takes it up"
            for path in tree.code_files(root) if path.name.endswith("_test.cpp") and path.resolve() not in built]


def included_first(root, build):
    """Headers that some source file includes before anything else: the build compiles them alone already, where it compiles that file alone."""
    first = set()
    alone = compiled_alone(build) if build else None
    for path in tree.code_files(root, "src", "sim"):
        if path.suffix == ".cpp" and (alone is None or path.resolve() in alone):
            _, _, target = next(iter(tree.includes(path)), (0, False, ""))
            if resolved := resolve(root, path, target):
                first.add(root / resolved)
    return first


def headers_alone(root, build=None):
    """Every header compiles by itself; the public C headers as C99 and as C++11 too. A tenth of them each time; with HOLDFAST_ALL_STORIES=1 (make soak) all."""
    proven = included_first(root, build)
    flags = [f"-I{root}/src", f"-I{root}/include", f"-I{root}"] + ([f"-I{build}"] if build else [])
    jobs = []
    for path in tree.code_files(root, "src", "include", "tools", "sim"):
        if path.suffix == ".hpp" and path not in proven:
            jobs.append((path, ["g++", "-std=c++23", "-x", "c++"]))
        elif path.suffix == ".h":
            jobs.append((path, ["gcc", "-std=c99", "-pedantic-errors", "-Wall", "-Wstrict-prototypes", "-x", "c"]))
            jobs.append((path, ["g++", "-std=c++11", "-pedantic-errors", "-Wall", "-x", "c++"]))

    if build and os.environ.get("HOLDFAST_ALL_STORIES") != "1":
        jobs = random.sample(jobs, (len(jobs) + 9) // 10)

    def compile_one(job):
        path, command = job
        result = subprocess.run(command + ["-fsyntax-only", "-include", str(path), "/dev/null"] + flags,
                                capture_output=True, text=True)
        if result.returncode == 0:
            return None
        first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip()[:200])
        return f"{path.relative_to(root)}: does not compile alone ({command[1]}): {first}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [finding for finding in pool.map(compile_one, jobs) if finding]


def generated_current(root):
    """api/generate.py makes exactly the files that are checked in."""
    generator = root / "api" / "generate.py"
    if not generator.exists():
        return ["api/generate.py is missing"]
    result = subprocess.run(["/usr/bin/python3", str(generator), "--check"], capture_output=True, text=True, cwd=root)
    if result.returncode == 0:
        return []
    return [line for line in (result.stdout + result.stderr).splitlines() if line.strip()] or ["generate.py --check failed"]
