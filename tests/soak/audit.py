"""Known holes in the packages of this environment, where pip-audit is installed and can ask for them.

It needs the network: a package of which no answer came is counted as not audited, which is no failure and no proof.
Without it a list of known holes that comes as a package (safety-db, where it is installed) is read instead; that one is
years old and says so.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from packaging.specifiers import SpecifierSet
from records import Record, arguments


def answers(seconds: float) -> dict[str, list[dict[str, object]]]:
    """Holes of each package by its name and version; none for those without an answer."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    found = json.loads(done.stdout)["dependencies"] if done.stdout.strip() else []
    return {f"{one['name']} {one['version']}": one["vulns"] for one in found if "vulns" in one}


def listed() -> tuple[str, dict[str, list[str]]]:
    """The version of the list that needs no network, and what it says against packages that are installed here."""
    folder = importlib.util.find_spec("safety_db")
    if folder is None or folder.origin is None:
        return "not installed", {}
    known = json.loads((Path(folder.origin).parent / "insecure.json").read_text(encoding="utf-8"))
    found = {}
    for one in importlib.metadata.distributions():
        bad = [said for said in known.get(one.metadata["Name"].lower(), []) if one.version in SpecifierSet(said)]
        if bad:
            found[f"{one.metadata['Name']} {one.version}"] = bad
    return importlib.metadata.version("safety-db"), found


def main() -> int:
    given = arguments(__file__, minutes=5.0).parse_args()
    record = Record("Security: audit", "every installed package asked for in the database of known holes by pip-audit")
    packages = len({one.metadata["Name"].lower() for one in importlib.metadata.distributions()})
    holes = answers(60 * given.minutes) if importlib.util.find_spec("pip_audit") else {}
    record.times = len(holes)
    record.failed = [
        f"{name}: {', '.join(str(hole['id']) for hole in found)}" for name, found in holes.items() if found
    ]
    version, old = listed()
    record.failed += [f"{name}: {', '.join(said)} in safety-db {version}" for name, said in old.items()]
    record.figures = {
        "packages": packages,
        "without an answer of pip-audit, so not audited by it": packages - len(holes),
        "the list that needs no network, safety-db": version,
        "packages with a hole in that list": len(old),
    }
    record.keep(given.keep)
    print(record.figures, record.failed)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
