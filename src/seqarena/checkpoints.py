"""Checkpoints on the disk: whole under their name, or not there; and found out where a bit of them is another."""

import io
import os
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO


class WholeFiles(TorchCheckpointIO):
    """How Lightning is to write them: its own way leaves half a file where the folder of temporary files is another
    disk, and does not wait for the disk."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Replace the file at `path`. OSError: there is no room."""
        write(checkpoint, Path(path))


def write(content: Any, path: Path) -> None:
    """Save what torch saves: beside its place first, safe on the disk, then renamed. Nothing is left of a failure."""
    packed = io.BytesIO()
    torch.save(content, packed)  # into a file it would tell of a full disk as of a defect of its own
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(packed.getbuffer())
        settle(part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def settle(*paths: Path) -> None:
    """Have what was written to these files and folders on the disk, whatever becomes of the power."""
    for path in paths:
        if path.exists():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def require_intact(path: Path) -> None:
    """Raise unless a file is an archive as torch writes it, each part with its check sum, which torch does not look at.

    None is packed: what unpacks to more than its size might unpack to more than any memory holds.
    """
    with ZipFile(path) as archive:
        if any(part.compress_type != ZIP_STORED for part in archive.infolist()):
            raise BadZipFile("it is packed")
        if (part := archive.testzip()) is not None:
            raise BadZipFile(f"its part {part} has another check sum")
