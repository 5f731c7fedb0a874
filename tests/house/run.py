"""run.py CHECK ROOT [BUILD]: one structure check; prints its findings and exits 1 when there are any."""

import sys
from pathlib import Path

import checks

CHECKS = {
    "include_direction": lambda root, build: checks.include_direction(root),
    "purity": lambda root, build: checks.purity(root),
    "throwing_print": lambda root, build: checks.throwing_print(root),
    "file_sizes": lambda root, build: checks.file_sizes(root),
    "tests_built": checks.tests_built,
    "headers_alone": checks.headers_alone,
    "generated_current": lambda root, build: checks.generated_current(root),
}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(f"{__doc__}\nchecks: {', '.join(CHECKS)}")
    root = Path(sys.argv[2]).resolve()
    build = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else root / "build"
    findings = CHECKS[sys.argv[1]](root, build)
    for finding in findings:
        print(finding)
    print(f"{sys.argv[1]}: {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


main()
