"""What paths and patterns name, and whether two names are one file."""

from __future__ import annotations

import glob
import os
from contextlib import suppress
from typing import Any

from dpstats.errors import SchemaError

TWICE = ": its rows would count twice, and have half the stated protection. Name it once."


def named_files(path: str) -> list[str]:
    """What a path or a pattern names, in full: workers may have another current folder."""
    if "://" in path:
        return [path]
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.exists(path):
        return [path]
    paths = sorted(glob.glob(path, recursive=True))
    if not paths:
        in_memory = os.path.basename(path).isidentifier()
        raise SchemaError(
            f"there is no file or folder '{path}': give its path from here, or a full one"
            + ("; a table in memory stands without quotes." if in_memory else ".")
        )
    return paths


def local_file(path: str) -> Any:
    """What is equal for two names of one file here, which has one number; None of no such file."""
    with suppress(OSError, ValueError):
        about = os.stat(path)
        return (about.st_dev, about.st_ino) if about.st_ino else os.path.realpath(path)
    return None
