"""The file itself: a zip archive, nothing of it compressed, of one page of JSON and the bytes of arrays."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..exceptions import ModelFileError

__all__ = ["Archive", "write_archive", "written_whole"]

_PAGE, _SUM = "model.json", "model.json.sha256"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model makes the same file


@contextmanager
def written_whole(path: str | Path) -> Iterator[Any]:
    """A file to write to that takes the place of the one at `path` when all of it is on disk, and not before."""
    path = Path(path)
    name = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"
    try:  # with the rights that the user's mask leaves; to ask for the mask would be to change it, for all threads
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to write {path.name!r} to.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    with suppress(OSError):  # so that the new name is on disk, too, where directories can be told
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def write_archive(path: str | Path, page: dict[str, Any], arrays: Sequence[bytes]) -> None:
    """The page, its checksum, and arrays with theirs on the page."""
    page = page | {"arrays": [{"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()} for raw in arrays]}
    text = json.dumps(page, allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode()
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, raw in (
            (_PAGE, text),
            (_SUM, hashlib.sha256(text).hexdigest().encode()),
            *((f"arrays/{i}", raw) for i, raw in enumerate(arrays)),
        ):
            archive.writestr(zipfile.ZipInfo(name, _DATE), raw)


class Archive:
    """A file that is open for reading: its page, checked, and arrays, each checked when asked for."""

    def __init__(self, path: str | Path) -> None:
        self._size = os.path.getsize(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            raise ModelFileError("it is no model file, or only a part of one") from None
        try:
            self.page = self._checked_page()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._zip.close()

    def _checked_page(self) -> dict[str, Any]:
        """Names and sizes before anything is read: whatever is not compressed takes no more memory than disk."""
        parts = self._zip.infolist()
        names = [part.filename for part in parts]
        if names[:2] != [_PAGE, _SUM] or names[2:] != [f"arrays/{i}" for i in range(len(names) - 2)]:
            raise ModelFileError("it is no model file: its parts have other names")
        if any(part.compress_type != zipfile.ZIP_STORED or part.flag_bits & 1 for part in parts):
            raise ModelFileError("parts of it are compressed or encrypted, and those of model files are not")
        if sum(part.file_size for part in parts) > self._size:
            raise ModelFileError("its parts are larger than the file")
        text = self._read(_PAGE)
        if hashlib.sha256(text).hexdigest().encode() != self._read(_SUM):
            raise ModelFileError("its checksum is wrong: it was damaged or changed")
        try:
            page = json.loads(text)
        except (ValueError, RecursionError):
            raise ModelFileError("its page is no JSON") from None
        listed = page.get("arrays") if isinstance(page, dict) else None
        if not isinstance(listed, list) or len(listed) != len(names) - 2:
            raise ModelFileError("its page does not list its arrays")
        return page

    def array(self, number: int, size: int) -> bytes:
        """The bytes of an array."""
        listed = self.page["arrays"]
        if not 0 <= number < len(listed) or not isinstance(listed[number], dict):
            raise ModelFileError("it refers to an array that is not there")
        if listed[number].get("bytes") != size:
            raise ModelFileError("an array has not the size that its shape says")
        raw = self._read(f"arrays/{number}")
        if len(raw) != size or hashlib.sha256(raw).hexdigest() != listed[number].get("sha256"):
            raise ModelFileError("the checksum of an array is wrong: it was damaged or changed")
        return raw

    def _read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, KeyError, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
            raise ModelFileError("a part of it cannot be read: it was damaged or cut off") from None
