"""What counts as a layer of a model that is built of anything: parts in a list of parts."""

from collections.abc import Iterator

from torch import nn


def layers(module: nn.Module) -> Iterator[nn.Module]:
    """Each layer in a list of layers of `module`.

    Lists inside a layer are part of it; modules without parts, such as a LayerNorm, are too small to count.
    """
    for child in module.children():
        if isinstance(child, nn.ModuleList):
            yield from (layer for layer in child if any(layer.children()))
        else:
            yield from layers(child)
