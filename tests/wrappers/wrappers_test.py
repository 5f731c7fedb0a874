"""wrappers_test.py BUILD: what build systems do with mpicc, mpicxx, pkg-config and FindMPI, in the build tree and after
`cmake --install` into a directory that is then moved."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv.pop()).resolve()
PROGRAM = HERE / "program.c"
CLEAN = {k: v for k, v in os.environ.items()
         if k not in ("HOLDFAST_CC", "HOLDFAST_CXX", "OMPI_CC", "OMPI_CXX", "MPICH_CC", "MPICH_CXX", "LD_LIBRARY_PATH")}


def run(*command, env=None, code=0, cwd=None):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**CLEAN, **(env or {})},
                            cwd=cwd, stdin=subprocess.DEVNULL)
    assert result.returncode == code, f"{command}: exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout.strip()


class Wrappers(unittest.TestCase):
    tree = BUILD

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.work = Path(self.directory.name)
        self.bin = self.tree / "bin"

    def tearDown(self):
        self.directory.cleanup()

    def test_compile_link_run(self):
        for wrapper, language in (("mpicc", "c"), ("mpicxx", "c++"), ("mpic++", "c++"), ("mpiCC", "c++")):
            program = self.work / wrapper
            run(self.bin / wrapper, "-x", language, PROGRAM, "-o", program)
            self.assertEqual(run(program), "size 1")
            run(self.bin / wrapper, "-x", language, "-c", PROGRAM, "-o", f"{program}.o")
            run(self.bin / wrapper, f"{program}.o", "-o", program)
            self.assertEqual(run(program), "size 1")

    def test_library_is_the_one_of_this_tree(self):
        program = self.work / "program"
        run(self.bin / "mpicc", PROGRAM, "-o", program)
        libraries = [line for line in run("ldd", program).splitlines() if "libmpi_abi.so.1" in line]
        self.assertEqual(len(libraries), 1)
        self.assertTrue(Path(libraries[0].split("=>")[1].split()[0]).resolve().is_relative_to(self.tree.resolve()))

    def test_through_a_symbolic_link(self):
        link = self.work / "mpicc"
        link.symlink_to(self.bin / "mpicc")
        run(link, PROGRAM, "-o", self.work / "program")
        self.assertEqual(run(self.work / "program"), "size 1")
        other = self.work / "holdfast-cc"
        other.symlink_to(self.bin / "mpicc")
        self.assertEqual(run(other, "-show", "x.c"), run(self.bin / "mpicc", "-show", "x.c"))

    def test_show(self):
        shown = run(self.bin / "mpicc", "-show", "x.c", "-o", "a b")
        for word in ("x.c", "'a b'", "-I", "-L", "-lmpi_abi", "-Wl,-rpath,"):
            self.assertIn(word, shown)
        self.assertEqual(shown, run(self.bin / "mpicc", "--showme", "x.c", "-o", "a b"))
        self.assertNotIn("-lmpi_abi", run(self.bin / "mpicc", "-show", "-c", "x.c"))
        self.assertIn("-lmpi_abi", run(self.bin / "mpicc", "-show"))

    def test_showme(self):
        flags = run(self.bin / "mpicxx", "--showme:compile").split() + run(self.bin / "mpicxx", "--showme:link").split()
        shutil.copy(PROGRAM, self.work / "program.cpp")
        run("g++", self.work / "program.cpp", "-o", self.work / "program", *flags)
        self.assertEqual(run(self.work / "program"), "size 1")
        include = run(self.bin / "mpicc", "--showme:incdirs")
        self.assertTrue((Path(include) / "mpi.h").is_file())
        library = run(self.bin / "mpicc", "--showme:libdirs")
        self.assertTrue((Path(library) / "libmpi_abi.so.1").exists())
        self.assertIn("is not known", subprocess.run([self.bin / "mpicc", "--showme:x"], capture_output=True, text=True).stderr)

    def test_other_compiler(self):
        shown = run(self.bin / "mpicc", "-show", "-c", "x.c", env={"HOLDFAST_CC": "ccache gcc-12"})
        self.assertTrue(shown.startswith("ccache gcc-12 -I"), shown)
        self.assertTrue(run(self.bin / "mpicxx", "-show", "-cxx=clang++", "-c", "x.cpp").startswith("clang++ -I"))

    def test_compiler_options_without_input(self):
        self.assertIn(".", run(self.bin / "mpicc", "-dumpfullversion"))
        run(self.bin / "mpicc", "-v")

    def test_objects_are_joined_without_the_library(self):
        run(self.bin / "mpicc", "-c", PROGRAM, "-o", self.work / "a.o")
        run(self.bin / "mpicc", "-r", self.work / "a.o", "-o", self.work / "b.o")
        run(self.bin / "mpicc", self.work / "b.o", "-o", self.work / "program")
        self.assertEqual(run(self.work / "program"), "size 1")

    def test_what_there_is_not(self):
        run(self.bin / "mpicc", "-static", "-c", PROGRAM, "-o", self.work / "a.o")
        for command, words in (((self.bin / "mpicc", "-static", PROGRAM), "shared only"), ((self.bin / "mpifort", "x.f90"), "no Fortran bindings")):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertIn(words, done.stderr)

    def test_compiler_error_is_passed_on(self):
        (self.work / "bad.c").write_text("int main(void) { return x; }\n")
        run(self.bin / "mpicc", self.work / "bad.c", "-o", self.work / "bad", code=1)

    def test_pkg_config(self):
        for name in ("holdfast", "mpi"):
            flags = run("pkg-config", "--cflags", "--libs", name, env={"PKG_CONFIG_PATH": str(self.tree / "lib/pkgconfig")})
            run("gcc", PROGRAM, "-o", self.work / name, *flags.split())
            self.assertEqual(run(self.work / name), "size 1")

    def test_the_launcher_lets_a_program_find_this_library(self):
        elsewhere = self.work / "lib"
        elsewhere.mkdir()
        run("gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libmpi_abi.so.1", "-o", elsewhere / "libmpi_abi.so.1")
        run(self.bin / "mpicc", "-c", PROGRAM, "-o", self.work / "a.o")
        run("gcc", self.work / "a.o", f"-L{self.tree / 'lib'}", f"-Wl,-rpath,{elsewhere}", "-lmpi_abi", "-o", self.work / "program")
        for set_already in ({}, {"LD_LIBRARY_PATH": str(elsewhere)}, {"LD_LIBRARY_PATH": ""}):
            self.assertEqual(run(self.bin / "holdfast", "run", "-n", 1, self.work / "program", env=set_already), "size 1")

    def test_find_mpi(self):
        path = f"{self.bin}:{os.environ['PATH']}"
        run("cmake", "-S", HERE / "find_mpi", "-B", self.work / "b", env={"PATH": path})
        run("cmake", "--build", self.work / "b")
        self.assertEqual(run(self.work / "b" / "program_c"), "size 1")
        self.assertEqual(run(self.work / "b" / "program_cxx"), "size 1")


class Installed(Wrappers):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        first = Path(cls.place.name) / "first"
        cls.tree = Path(cls.place.name) / "moved"
        run("cmake", "--install", BUILD, "--prefix", first)
        first.rename(cls.tree)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_documents(self):
        """The guide, and all that it and messages name."""
        place = self.tree / "share/doc/holdfast"
        root = HERE.parents[1]
        self.assertEqual((place / "LICENSE").read_bytes(), (root / "LICENSE").read_bytes())
        guide = (place / "users-guide.md").read_text()
        sources = "".join(path.read_text() for path in (root / "src").rglob("*.cpp"))
        named = set(re.findall(r"[\w-]+\.md", guide)) | set(re.findall(r"docs/([\w-]+\.md)", sources))
        self.assertLess({"recorder.md", "threads.md", "metrics.md"}, named)
        self.assertEqual(sorted(name for name in named if not (place / name).exists()), [])
        self.assertFalse((place / "progress.md").exists())

    @unittest.skipUnless("bookworm" in Path("/etc/os-release").read_text(), "other systems have other packages")
    def test_packages_that_a_node_needs(self):
        """The guide names those of all libraries but the C library's."""
        guide = (self.tree / "share/doc/holdfast/users-guide.md").read_text()
        names = ("bin/holdfast", "lib/libmpi_abi.so.1", "lib/libholdfast_recorder.so")
        needed = set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", *(self.tree / name for name in names))))
        others = {name for name in needed if not re.match(r"(lib(c|m|gcc_s|tinfo|asan|ubsan|tsan)\.so|ld-linux)", name)}
        self.assertIn("libfmt.so.9", others)
        self.assertEqual([name for name in sorted(others) if name.replace(".so.", "") not in guide], [])

    def test_command_runs(self):
        for name in ("holdfast", "mpirun", "mpiexec"):
            self.assertTrue(os.access(self.bin / name, os.X_OK), name)
        run(self.bin / "mpicc", PROGRAM, "-o", self.work / "program")
        self.assertEqual(run(self.bin / "mpiexec", "-n", "2", self.work / "program"), "size 2\nsize 2")


unittest.main()
