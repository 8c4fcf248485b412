"""Known holes in the packages of this environment, where pip-audit is installed and can ask for them.

It needs the network: a package of which no answer came is counted as not audited, which is no failure and no proof.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys

from records import Record, arguments


def answers(seconds: float) -> dict[str, list[dict[str, object]]]:
    """Holes of each package by its name and version; none for those without an answer."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    found = json.loads(done.stdout)["dependencies"] if done.stdout.strip() else []
    return {f"{one['name']} {one['version']}": one["vulns"] for one in found if "vulns" in one}


def main() -> int:
    given = arguments(__file__, minutes=5.0).parse_args()
    record = Record("Security: audit", "every installed package asked for in the database of known holes by pip-audit")
    packages = len({one.metadata["Name"].lower() for one in importlib.metadata.distributions()})
    holes = answers(60 * given.minutes) if importlib.util.find_spec("pip_audit") else {}
    record.times = len(holes)
    record.failed = [
        f"{name}: {', '.join(str(hole['id']) for hole in found)}" for name, found in holes.items() if found
    ]
    record.figures = {"packages": packages, "no answer": packages - len(holes)}
    record.keep(given.keep)
    print(record.figures, record.failed)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
