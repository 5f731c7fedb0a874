"""Breaks each structure check on purpose in a small tree of its own, and sees it fail."""

import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import checks


class Checks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name)
        self.write("src/base/ids.hpp", "#pragma once\n#include <cstdint>\n")
        self.write("src/wire/frame.hpp", '#pragma once\n#include "base/ids.hpp"\n')
        self.write("src/core/match/matcher.hpp", '#pragma once\n#include "wire/frame.hpp"\n// never calls rand()\n')
        self.write("src/core/vprotocol/gate.hpp", '#pragma once\n#include "core/match/matcher.hpp"\n')
        self.write("src/engine/engine.hpp", '#pragma once\n#include "core/vprotocol/gate.hpp"\n#include <chrono>\n')

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, findings, *words):
        self.assertEqual(len(findings), 1, findings)
        for word in words:
            self.assertIn(word, findings[0])

    def test_clean_tree_has_no_findings(self):
        self.assertEqual(checks.include_direction(self.root), [])
        self.assertEqual(checks.purity(self.root), [])
        self.assertEqual(checks.throwing_print(self.root), [])
        self.assertEqual(checks.file_sizes(self.root), [])
        self.assertEqual(checks.headers_alone(self.root), [])

    def test_upward_include(self):
        self.write("src/wire/up.cpp", '#include "engine/engine.hpp"\n')
        self.expect(checks.include_direction(self.root), "src/wire/up.cpp:1", "points upward")

    def test_tools_may_include_everything_and_nothing_includes_tools(self):
        self.write("tools/holdfast/run.hpp", '#pragma once\n#include "engine/engine.hpp"\n')
        self.assertEqual(checks.include_direction(self.root), [])
        self.write("src/base/bad.cpp", '#include "../../tools/holdfast/run.hpp"\n')
        self.expect(checks.include_direction(self.root), "src/base/bad.cpp:1", "points upward")

    def test_simulator_may_include_everything_and_nothing_includes_it(self):
        self.write("sim/world.hpp", '#pragma once\n#include "core/vprotocol/gate.hpp"\n')
        self.write("sim/world.cpp", '#include "sim/world.hpp"\n')
        self.assertEqual(checks.include_direction(self.root), [])
        self.assertEqual(checks.headers_alone(self.root), [])
        self.write("src/base/bad.cpp", '#include "sim/world.hpp"\n')
        self.expect(checks.include_direction(self.root), "src/base/bad.cpp:1", "points upward")

    def test_sideways_core(self):
        self.write("src/core/match/bad.cpp", '#include "core/vprotocol/gate.hpp"\n')
        self.expect(checks.include_direction(self.root), "sibling core/vprotocol")

    def test_core_includes_os(self):
        self.write("src/os/fd.hpp", "#pragma once\n")
        self.write("src/core/match/bad.cpp", '#include "os/fd.hpp"\n')
        self.expect(checks.include_direction(self.root), "a core may not include os/")

    def test_cycle(self):
        self.write("src/base/one.hpp", '#pragma once\n#include "base/two.hpp"\n')
        self.write("src/base/two.hpp", '#pragma once\n#include "base/one.hpp"\n')
        self.expect(checks.include_direction(self.root), "cyclic include", "src/base/one.hpp -> src/base/two.hpp")

    def test_unknown_layer(self):
        self.write("src/misc/a.cpp", '#include "base/ids.hpp"\n')
        self.expect(checks.include_direction(self.root), "src/misc is not a layer")

    def test_include_that_is_not_there(self):
        self.write("src/base/a.cpp", '#include "base/nowhere.hpp"\n')
        self.expect(checks.include_direction(self.root), "is not found")

    def test_impure_headers(self):
        for header in ("chrono", "thread", "sys/socket.h", "unistd.h", "random", "spdlog/spdlog.h", "mutex", "fstream"):
            self.write("src/core/match/bad.cpp", f"#include <{header}>\n")
            self.expect(checks.purity(self.root), header)

    def test_impure_header_through_another(self):
        self.write("src/base/clock.hpp", "#pragma once\n#include <chrono>\n")
        self.write("src/core/match/bad.cpp", '#include "base/clock.hpp"\n')
        self.expect(checks.purity(self.root), "chrono", "src/base/clock.hpp")

    def test_impure_calls(self):
        for call in ("auto t = steady_clock::now();", "::getenv(\"X\");", "int x = rand();", "std::mutex lock;",
                     "clock_gettime(CLOCK_MONOTONIC, &t);", "thread_local int n;", "syscall(1);"):
            self.write("src/core/match/bad.cpp", f"void f() {{ {call} }}\n")
            self.expect(checks.purity(self.root), "src/core/match/bad.cpp:1")

    def test_comments_and_strings_are_not_calls(self):
        self.write("src/core/match/good.cpp", '// rand()\n/* std::mutex\n*/ const char* text = "getenv(x)";\n')
        self.assertEqual(checks.purity(self.root), [])

    def test_print_that_throws(self):
        self.write("tools/a.cpp", '// fmt::print("x")\nvoid f() { os::print_error("fmt::print {}", 1); }\n')
        self.assertEqual(checks.throwing_print(self.root), [])
        for call in ('fmt::print("x");', 'fmt::print(stderr, "x");', 'std::println("x");', 'std::cout << 1;'):
            self.write("tools/a.cpp", f"void f() {{\n  {call}\n}}\n")
            self.expect(checks.throwing_print(self.root), "tools/a.cpp:2", "os/print.hpp")

    def test_long_file(self):
        self.write("src/base/long.cpp", "\n" * 801)
        self.expect(checks.file_sizes(self.root), "src/base/long.cpp: 801 lines")
        self.write("src/base/long.cpp", "// Generated by api/generate.py: do not edit.\n" + "\n" * 801)
        self.assertEqual(checks.file_sizes(self.root), [])

    def test_test_that_is_not_built(self):
        build = self.root / "build"
        self.write("src/base/ids_test.cpp", "")
        self.write("src/wire/frame_test.cpp", "")
        self.write("build/compile_commands.json",
                   json.dumps([{"directory": str(build), "file": str(self.root / "src/base/ids_test.cpp")}]))
        self.expect(checks.tests_built(self.root, build), "src/wire/frame_test.cpp")

    def test_tests_that_are_built_as_one(self):
        build = self.root / "build"
        for name in ("ids", "bytes", "left"):
            self.write(f"src/base/{name}_test.cpp", "")
        joined = f"{build}/src/base/CMakeFiles/base_test.dir/Unity/unity_0_cxx.cxx"
        self.write(joined, "".join(f'#include "{self.root}/src/base/{name}_test.cpp"\n' for name in ("ids", "bytes")))
        self.write("build/compile_commands.json", json.dumps([{"directory": str(build), "file": joined}]))
        self.expect(checks.tests_built(self.root, build), "src/base/left_test.cpp")

    def test_header_that_does_not_compile_alone(self):
        self.write("src/base/bad.hpp", "#pragma once\ninline std::string name() { return {}; }\n")
        self.expect(checks.headers_alone(self.root), "src/base/bad.hpp")
        (self.root / "src/base/bad.hpp").unlink()
        self.write("include/bad.h", "int f(bool x);\n")
        self.expect(checks.headers_alone(self.root), "include/bad.h", "c99")

    @unittest.mock.patch.dict("os.environ", HOLDFAST_ALL_STORIES="1")
    def test_header_of_a_source_that_is_compiled_with_others(self):
        build = self.root / "build"
        self.write("src/base/bad.hpp", "#pragma once\ninline std::string name() { return {}; }\n")
        self.write("src/base/bad.cpp", '#include "base/bad.hpp"\n')
        self.write("build/compile_commands.json", json.dumps([{"directory": str(build), "file": str(self.root / "src/base/bad.cpp")}]))
        self.assertEqual(checks.headers_alone(self.root, build), [])  # the build would have failed
        self.write("build/compile_commands.json", json.dumps([{"directory": str(build), "file": "unity_0.cxx"}]))
        self.expect(checks.headers_alone(self.root, build), "src/base/bad.hpp")

    def test_generated_files_differ(self):
        self.write("api/generate.py", "import sys\nprint('include/mpi.h: out of date')\nsys.exit(1)\n")
        self.expect(checks.generated_current(self.root), "include/mpi.h: out of date")
        self.write("api/generate.py", "")
        self.assertEqual(checks.generated_current(self.root), [])


unittest.main()
