"""Weights shared out over ranks: each keeps a slice of every tensor, of its gradient and of its optimizer state.

This is `trainer=fsdp`: torch's FSDP2 (`fully_shard`), which is ZeRO's third stage (Rajbhandari et al. 2020; Zhao et al.
2023). A layer's weights are put together when it is called, dropped behind it, and put together again on the way back;
gradients are summed over the ranks and cut up. What belongs to no layer (embeddings, output layer, last norms) stays
whole from the start of a step to its end.

Numbers are those of `ddp`. Mixed precision is autocast, as there: weights, sums over ranks and optimizer are in fp32.
An evaluation holds all weights whole, since ranks search for different numbers of steps and could not wait for each
other at every layer. Checkpoints hold whole tensors under the usual names, so the rest of the program reads them as it
does any other's. Accumulation, clipping, averaging, recomputed layers, streams and resume points work as with `ddp`.

Not here: probes, compilation, and precisions 16-mixed and 64-true (seqarena.preflight refuses them); weights that are
too large for one device, as they are made there and lie there whole while it evaluates.
"""

from collections.abc import Mapping
from typing import Any

from lightning.pytorch.strategies import ModelParallelStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import (
    FSDPModule,
    FullyShardedDataParallel,
    OptimStateKeyType,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor, distribute_tensor

from seqarena.layers import layers

STEPS = ("training_step", "validation_step", "test_step")
"""What Lightning calls of a task: to torch, each is a pass forward. Within it a task calls its `forward` by that name,
as a pass within a pass would end the outer one."""


def share_out(task: nn.Module, mesh: DeviceMesh) -> None:
    """Leave this rank its slice of each tensor of `task`; a task that was shared out stays as it is.

    A decoder that is called token by token is no list of layers here: texts of other lengths on other ranks would have
    them meet a different number of times.
    """
    if isinstance(task, FSDPModule):
        return
    parts = [part for part in task.children() if not getattr(part, "stepwise", False)]
    for layer in (layer for part in parts for layer in layers(part)):
        fully_shard(layer, mesh=mesh)
        if hasattr(layer, "start"):  # the other method of a decoder's layer that reads its weights
            register_fsdp_forward_method(layer, "start")
    fully_shard(task, mesh=mesh, reshard_after_forward=False)
    for step in STEPS:
        register_fsdp_forward_method(task, step)


def whole(task: nn.Module) -> dict[str, Tensor]:
    """A copy of the task's state in whole tensors. Every rank has to ask."""
    return {name: _together(value).clone() for name, value in task.state_dict().items()}


def load(task: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Take over a state of whole tensors, of which a task that is shared out keeps its slices."""
    held = task.state_dict()
    task.load_state_dict({name: _cut(value, held.get(name)) for name, value in weights.items()})


def _together(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def _cut(tensor: Tensor, held: Tensor | None) -> Tensor:
    """Shared out as `held` is; each rank has all of it, so none waits for another."""
    if not isinstance(held, DTensor):
        return tensor
    return distribute_tensor(tensor.to(held.device), held.device_mesh, held.placements, src_data_rank=None)


def mine(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor: all of it, or some of its rows."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class Sharded(ModelParallelStrategy):
    """Lightning's strategy for a task that shares itself out, over so many `ranks`, with whole weights in evaluation.

    A run goes on in the order of other strategies: weights and place in the data, then optimizers, then their state.
    Lightning's own order here would open the data at its beginning, as a schedule asks for the length of an epoch.
    """

    restore_checkpoint_after_setup = False
    lightning_restore_optimizer = True

    def __init__(self, ranks: int) -> None:
        super().__init__(data_parallel_size=ranks, tensor_parallel_size=1, save_distributed_checkpoint=False)

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Slices of a checkpoint's optimizer states, which are by number, as any optimizer's are."""
        # a tenth of a second to import, which nothing else needs
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

        assert self.model is not None
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            named = FullyShardedDataParallel.rekey_optim_state_dict(state, OptimStateKeyType.PARAM_NAME, self.model)
            set_optimizer_state_dict(self.model, optimizer, named, options=options)

    def on_validation_start(self) -> None:
        """Put the weights together."""
        self._gather()

    def on_validation_end(self) -> None:
        """Back to slices."""
        self._scatter()

    def on_test_start(self) -> None:
        """Put the weights together."""
        self._gather()

    def on_test_end(self) -> None:
        """Back to slices."""
        self._scatter()

    def _parts(self) -> list[FSDPModule]:
        assert self.model is not None
        return [part for part in self.model.modules() if isinstance(part, FSDPModule)]

    def _gather(self) -> None:
        for part in self._parts():
            part.set_reshard_after_forward(False, recurse=False)
            part.unshard()

    def _scatter(self) -> None:
        for part in self._parts():
            part.set_reshard_after_forward(part is not self.model, recurse=False)
            part.reshard()
